"""/search over the strict server: pages in one message, turned by its buttons."""

from __future__ import annotations

from typing import Any

from handlers.search import SHOWN
from keepsake.cli import talk
from keepsake.forgetting.service import ERASE
from keepsake.locales import translate
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from keepsake.store import jobs
from tests.telegram.tools import ANN, BOB, assistant, listening, off_loop
from tests.telegram_server import TelegramServer
from tests.telegram_server.rules import RefusedError

AGAIN = translate("en", "search-again")
Json = dict[str, Any]


async def tell(memory: MemoryManager, count: int) -> None:
    for number in range(count):
        said = f"day {number}: " + "nothing of note, " * 20 + f"then 😀 tea of sort {number}, and to bed"
        await memory.save_message(ANN, "user", said)


def buttons(message: Json) -> dict[str, str]:
    """Label → data, of the one row that stands under a message."""
    if "reply_markup" not in message:
        return {}
    (row,) = message["reply_markup"]["inline_keyboard"]
    return {button["text"]: button["callback_data"] for button in row}


def bold(message: Json) -> set[str]:
    units = message["text"].encode("utf-16-le")
    spans = [(entity["offset"], entity["length"]) for entity in message.get("entities", [])]
    return {units[2 * at : 2 * (at + length)].decode("utf-16-le") for at, length in spans}


async def pressed(server: TelegramServer, message: Json, label: str, user: int | None = None) -> Json:
    """The message after a press has been handled: a later text has its answer."""
    server.state.push_press(message, buttons(message)[label], user)
    answers = len(server.messages(ANN))
    server.push_text(ANN, "/cancel")
    return (await off_loop(server.wait_for_messages, ANN, answers + 1))[0]


async def test_pages_are_turned_in_one_message(server: TelegramServer, memory: MemoryManager) -> None:
    await tell(memory, 12)
    async with listening(await assistant(server, memory, None)):
        server.push_text(ANN, "/search teas")
        (page,) = await off_loop(server.wait_for_messages, ANN, 1)
        first = page["text"]
        assert list(buttons(page)) == ["Next ▶"]
        assert bold(page) == {"tea"}
        assert len(page["entities"]) == SHOWN
        texts = [first]
        for _ in range(2):
            page = await pressed(server, page, "Next ▶")
            texts.append(page["text"])
        assert list(buttons(page)) == ["◀ Back"]
        assert bold(page) == {"tea"}
        page = await pressed(server, page, "◀ Back")
        assert page["text"] == texts[1]
        assert list(buttons(page)) == ["◀ Back", "Next ▶"]
    assert [text.splitlines()[0] for text in texts] == [
        "What I found, 1 to 5 of 12:",
        "What I found, 6 to 10 of 12:",
        "What I found, 11 to 12 of 12:",
    ]
    lines = [line for text in texts for line in text.splitlines()[1:]]
    assert len(lines) == 12
    assert {f"tea of sort {number}, and to bed" for number in range(12)} == {
        line[line.index("tea") :] for line in lines
    }
    assert len(server.state.answered) == 3
    assert server.state.rejected == []


async def test_a_press_that_comes_twice_changes_nothing(
    server: TelegramServer, memory: MemoryManager
) -> None:
    await tell(memory, 8)
    async with listening(await assistant(server, memory, None)):
        server.push_text(ANN, "/search tea")
        (page,) = await off_loop(server.wait_for_messages, ANN, 1)
        before = dict(page)
        second = await pressed(server, before, "Next ▶")
        again = await pressed(server, before, "Next ▶")
    assert second["text"] == again["text"]
    assert [m["text"] for m in server.messages(ANN)[1:]] == [translate("en", "nothing-to-stop")] * 2


async def test_a_message_that_cannot_be_changed_any_more_is_followed_by_the_page(
    server: TelegramServer, memory: MemoryManager
) -> None:
    await tell(memory, 8)
    async with listening(await assistant(server, memory, None)):
        server.push_text(ANN, "/search tea")
        (page,) = await off_loop(server.wait_for_messages, ANN, 1)
        refusal = RefusedError(400, "Bad Request: message can't be edited", foreseeable=False)
        server.state.refuse_next("editMessageText", refusal)
        server.state.push_press(page, buttons(page)["Next ▶"])
        first, second = await off_loop(server.wait_for_messages, ANN, 2)
    assert first["text"].startswith("What I found, 1 to 5 of 8:")
    assert second["text"].startswith("What I found, 6 to 8 of 8:")
    assert list(buttons(second)) == ["◀ Back"]


async def test_after_a_restart_an_old_page_says_that_the_search_is_to_be_made_again(
    server: TelegramServer, memory: MemoryManager
) -> None:
    await tell(memory, 8)
    async with listening(await assistant(server, memory, None)):
        server.push_text(ANN, "/search tea")
        (page,) = await off_loop(server.wait_for_messages, ANN, 1)
    async with listening(await assistant(server, memory, None)):
        server.state.push_press(page, buttons(page)["Next ▶"])
        await off_loop(server.wait_for_text, ANN, AGAIN)
    assert server.messages(ANN)[0]["text"].startswith("What I found, 1 to 5 of 8:")


async def test_somebody_elses_press_does_nothing(server: TelegramServer, memory: MemoryManager) -> None:
    await tell(memory, 8)
    async with listening(await assistant(server, memory, None)):
        server.push_text(BOB, "/start")
        await off_loop(server.wait_for_messages, BOB, 1)
        server.push_text(ANN, "/search tea")
        (page,) = await off_loop(server.wait_for_messages, ANN, 1)
        before = page["text"]
        after = await pressed(server, page, "Next ▶", BOB)
    assert after["text"] == before
    assert [m["text"] for m in server.messages(ANN)[1:]] == [translate("en", "nothing-to-stop")]
    assert len(server.messages(BOB)) == 1


async def test_an_erased_persons_pages_are_gone(server: TelegramServer) -> None:
    chosen = load_settings(
        allowed_user_ids="*",
        telegram_api_url=server.url,
        telegram_bot_token=server.token,
        embedding_model="none",
    )
    async with talk.assistant(chosen) as (app, memory):
        await tell(memory, 8)
        async with listening(app):
            server.push_text(ANN, "/search tea")
            (page,) = await off_loop(server.wait_for_messages, ANN, 1)
            assert len(app.searches) == 1
            engine = await memory.engine()
            now = engine.storage.now_micros()
            await engine.storage.database.write(jobs.enqueue, ERASE, str(ANN), now, user_id=ANN)
            await memory.flush()
            assert len(app.searches) == 0
            server.state.push_press(page, buttons(page)["Next ▶"])
            await off_loop(server.wait_for_text, ANN, AGAIN)
    assert server.wait_for_call("editMessageText", 0) == []
