"""What comes is handled once and what is said arrives once, whatever the network and the model do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from keepsake.errors import SettingError
from keepsake.locales import translate
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from keepsake.store import jobs
from keepsake.telegram import bot as life
from keepsake.telegram import preview
from tests.handlers.fakes import FakeAnswer, FakeModel
from tests.telegram.tools import ANN, BOB, Gated, assistant, kept, listening, off_loop, talk
from tests.telegram_server import TelegramServer
from tests.telegram_server.chats import BOT
from tests.telegram_server.rules import RefusedError


def texts(server: TelegramServer, person: int) -> list[str]:
    return [message["text"] for message in server.messages(person)]


class Growing(FakeModel):
    """Answers in four pieces with a pause between them."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def stream(self, turns: Any, *, remake: Any = None) -> FakeAnswer:
        return GrowingAnswer(["**One**", " two", " three", " four"], seconds=self.seconds)


class GrowingAnswer(FakeAnswer):
    def __init__(self, pieces: list[str], seconds: float) -> None:
        super().__init__(pieces)
        self.seconds = seconds

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in super().__aiter__():
            yield piece
            await asyncio.sleep(self.seconds)


@pytest.mark.limits
async def test_an_update_that_comes_again_is_not_handled_again(
    server: TelegramServer, memory: MemoryManager
) -> None:
    for again in (False, True):  # in the same run, and after a restart
        async with listening(await assistant(server, memory, FakeModel())):
            if not again:
                update = server.push_text(ANN, "once")
                await off_loop(server.wait_for_messages, ANN, 1)
            server.state.redeliver(update["update_id"])
            server.push_text(ANN, "next")
            await off_loop(server.wait_for_messages, ANN, 3 if again else 2)
    assert texts(server, ANN) == ["echo: once", "echo: next", "echo: next"]
    assert [message.content for message in await kept(memory)].count("once") == 1


async def test_an_answer_whose_receipt_is_lost_is_not_sent_twice(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.lose_answer("sendMessage")
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "one")
        server.push_text(ANN, "two")
        await off_loop(server.wait_for_messages, ANN, 2)
    assert texts(server, ANN) == ["echo: one", "echo: two"]


async def test_while_telegram_is_away_answers_wait(server: TelegramServer, memory: MemoryManager) -> None:
    model = Gated("slow")
    async with listening(await assistant(server, memory, model)):
        server.push_text(ANN, "slow")
        await model.reached.wait()
        with server.offline():
            model.gate.set()
            await asyncio.sleep(1.5)
        await off_loop(server.wait_for_messages, ANN, 1)
    assert texts(server, ANN) == ["echo: slow"]


@pytest.mark.limits
async def test_a_flood_limit_stops_its_own_chat_only(server: TelegramServer, memory: MemoryManager) -> None:
    server.state.refuse_next("sendMessage", RefusedError(429, "Too Many Requests: retry after 3", 3))
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "one")
        await off_loop(server.wait_for_call, "sendMessage")
        begun = time.monotonic()
        server.push_text(BOB, "two")
        await off_loop(server.wait_for_messages, BOB, 1)
        assert texts(server, ANN) == []
        await off_loop(server.wait_for_messages, ANN, 1)
        assert time.monotonic() - begun > 2


async def test_cancel_stops_a_hanging_answer_and_says_so(
    server: TelegramServer, memory: MemoryManager
) -> None:
    model = Gated("slow")
    async with listening(await assistant(server, memory, model)):
        server.push_text(ANN, "slow")
        server.push_text(ANN, "behind it")
        await model.reached.wait()
        server.push_text(ANN, "/cancel")
        await off_loop(server.wait_for_messages, ANN, 2)
        server.push_text(ANN, "/cancel")
        await off_loop(server.wait_for_messages, ANN, 3)
    stopped, nothing = translate("en", "answer-stopped"), translate("en", "nothing-to-stop")
    assert texts(server, ANN) == ["echo: behind it", stopped, nothing]


async def test_what_has_come_of_a_stopped_answer_is_shown_and_kept(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, Growing(60))):
        server.push_text(ANN, "tell me")
        await off_loop(server.wait_for_call, "sendMessageDraft")
        server.push_text(ANN, "/cancel")
        await off_loop(server.wait_for_messages, ANN, 2)
    assert texts(server, ANN) == ["One", translate("en", "answer-stopped")]
    assert [message.content for message in await kept(memory)] == ["tell me", "**One**"]


async def test_an_answer_grows_as_a_draft_and_then_arrives(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, Growing(0.8))):
        server.push_text(ANN, "tell me")
        await off_loop(server.wait_for_messages, ANN, 1)
    shown = [draft[2] for draft in server.state.drafts]
    assert len(shown) >= 2
    assert all("One two three four".startswith(text) for text in shown)
    assert len({draft[1] for draft in server.state.drafts}) == 1
    assert texts(server, ANN) == ["One two three four"]


@pytest.mark.limits
async def test_where_drafts_are_refused_an_answer_grows_in_its_message(
    server: TelegramServer, memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "DRAFT_SECONDS", 0.2)
    server.state.refuse_next("sendMessageDraft", RefusedError(400, "Bad Request: method is not available"))
    async with listening(await assistant(server, memory, Growing(1.6))):
        server.push_text(ANN, "tell me")
        await off_loop(server.wait_for_text, ANN, "One two three four")
    assert texts(server, ANN) == ["One two three four"]
    edits = [call["text"] for name, call in server.state.calls if name == "editMessageText"]
    assert len(edits) >= 2
    assert server.messages(ANN)[0]["entities"][0]["type"] == "bold"


async def test_an_edit_changes_what_is_remembered_and_is_not_answered(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        first = server.push_text(ANN, "my cat is called Fluffy")
        await off_loop(server.wait_for_messages, ANN, 1)
        server.state.push_edit(first, "my cat is called Whiskers")
        server.push_text(ANN, "hello")
        await off_loop(server.wait_for_messages, ANN, 2)
    assert (await kept(memory))[0].content == "my cat is called Whiskers"
    found = await memory.search_memory(ANN, "Whiskers")
    assert found[0][0].content == "my cat is called Whiskers"
    assert all(
        "Fluffy" not in message.content or message.role == "assistant" for message in await kept(memory)
    )
    assert (await memory.search_memory(ANN, "Fluffy", 1))[0][0].role == "assistant"  # it had repeated it


async def test_an_update_that_cannot_be_read_is_passed_over(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        server.state.push_raw({"message": {"message_id": "?", "chat": {"id": ANN}}})
        server.state.push_raw({"message": 5})
        server.push_text(ANN, "still there?")
        await off_loop(server.wait_for_messages, ANN, 1)
    assert texts(server, ANN) == ["echo: still there?"]


async def test_odd_updates_end_nothing_and_leave_nothing(
    server: TelegramServer, memory: MemoryManager
) -> None:
    person = {"id": ANN, "is_bot": False, "first_name": "Ann"}
    chat = {"id": ANN, "type": "private"}
    good = {"message_id": 900, "date": 1_700_000_000, "chat": chat, "from": person}
    odd: list[dict[str, Any]] = [
        {"message": {**good, "text": 5}},
        {"message": {**good, "date": "abc", "text": "x"}},
        {"message": {**good, "date": 10**18, "text": "x"}},
        {"message": {**good, "from": {**person, "id": 2**70}, "text": "x"}},
        {"message": {**good, "chat": {**chat, "id": 2**70}, "text": "x"}},
        {"edited_message": {**good, "edit_date": 1, "text": ["a"]}},
        {"callback_query": {"id": "1", "from": person, "chat_instance": "1", "message": good, "data": 5}},
    ]
    server.push_text(ANN, "hello")  # Telegram knows her from now on
    async with listening(await assistant(server, memory, FakeModel())):
        await off_loop(server.wait_for_messages, ANN, 1)
        for fields in odd:
            server.state.push_raw(fields)
        server.state.push_raw({"message": {**good, "message_id": 901, "text": "half \ud83d a pair"}})
        server.push_text(ANN, "still there?")
        await off_loop(server.wait_for_text, ANN, "echo: still there?")
    database = (await memory.engine()).storage.database
    left = await database.read(
        lambda c: c.execute("SELECT count(*) FROM inbox WHERE payload IS NOT NULL").fetchone()
    )
    assert left == (0,)
    server.state.rejected.clear()


async def test_whoever_was_erased_does_not_come_back_with_an_update_that_comes_again(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        update = server.push_text(ANN, "zebrafinch manuscript")
        await off_loop(server.wait_for_messages, ANN, 1)
        engine = await memory.engine()
        now = engine.storage.now_micros()
        await engine.storage.database.write(jobs.enqueue, "erase", str(ANN), now, user_id=ANN)
        await memory.flush()
        server.state.redeliver(update["update_id"])
        server.push_text(BOB, "hi")
        await off_loop(server.wait_for_messages, BOB, 1)
        await asyncio.sleep(0.5)
    assert texts(server, ANN) == ["echo: zebrafinch manuscript"]
    assert {message.user_id for message in await kept(memory)} == {BOB}


async def test_another_bot_over_the_same_memory_has_numbers_of_its_own(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "old")
        await off_loop(server.wait_for_messages, ANN, 1)
    before = dict(BOT)
    with TelegramServer(token="777:another-token_of_the_local_server_01") as other:
        BOT["id"] = 777
        try:
            async with listening(await assistant(other, memory, FakeModel())):
                other.push_text(ANN, "new")
                await off_loop(other.wait_for_messages, ANN, 1)
        finally:
            BOT.update(before)
    assert [message.content for message in await kept(memory)] == ["old", "echo: old", "new", "echo: new"]


async def test_a_cancel_that_comes_together_with_its_question_stops_it(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.push_text(ANN, "slow")
    server.push_text(ANN, "/cancel")
    async with listening(await assistant(server, memory, Gated("slow"))):
        await off_loop(server.wait_for_messages, ANN, 1)
    assert texts(server, ANN) == [translate("en", "answer-stopped")]


async def test_a_caption_is_read_as_text(server: TelegramServer, memory: MemoryManager) -> None:
    photo = {"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}
    async with listening(await assistant(server, memory, FakeModel())):
        server.state.push_message(ANN, {"photo": [photo], "caption": "my cat Murka"})
        await off_loop(server.wait_for_messages, ANN, 1)
    assert (await kept(memory))[0].content == "my cat Murka"


@pytest.mark.parametrize("how", ["block", "remove_chat"])
async def test_a_person_who_left_holds_nobody_up(
    server: TelegramServer, memory: MemoryManager, how: str
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "one")
        await off_loop(server.wait_for_messages, ANN, 1)
        server.push_text(ANN, "two")
        getattr(server.state, how)(ANN)
        await off_loop(server.wait_for_call, "sendMessage", 2)
        server.push_text(BOB, "three")
        await off_loop(server.wait_for_messages, BOB, 1)
    assert [message.content for message in await kept(memory)][2:4] == ["two", "echo: two"]
    server.state.rejected.clear()


async def test_an_answer_cut_short_by_the_stop_is_made_at_the_next_start(
    server: TelegramServer, memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "_GRACE_SECONDS", 0.2)
    model = Gated("slow")
    async with listening(await assistant(server, memory, model)):
        server.push_text(ANN, "slow")
        server.push_text(ANN, "behind it")
        await model.reached.wait()
    assert texts(server, ANN) == []
    async with listening(await assistant(server, memory, FakeModel())):
        await off_loop(server.wait_for_messages, ANN, 2)
    assert texts(server, ANN) == ["echo: slow", "echo: behind it"]
    said = [message.content for message in await kept(memory)]
    assert said == ["slow", "echo: slow", "behind it", "echo: behind it"]


async def test_of_two_bots_with_one_token_the_older_ends(
    server: TelegramServer, memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepsake.telegram.polling._CONFLICT_SECONDS", 0.3)
    older = asyncio.create_task(talk(await assistant(server, memory, FakeModel()), asyncio.Event()))
    await off_loop(server.wait_for_call, "getUpdates")
    other = load_settings(data_dir=load_settings().data_dir / "other")
    async with MemoryManager(other) as second, listening(await assistant(server, second, FakeModel())):
        with pytest.raises(SettingError, match="another program"):
            await asyncio.wait_for(older, 20)
        server.push_text(ANN, "who is there?")
        await off_loop(server.wait_for_messages, ANN, 1)
    server.state.rejected.clear()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_by_webhook_it_is_the_same_bot(server: TelegramServer, memory: MemoryManager) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    app = await assistant(server, memory, FakeModel(), telegram_webhook_url=url, telegram_webhook_port=port)
    async with listening(app):
        await off_loop(server.wait_for_call, "setWebhook")
        server.push_text(ANN, "hello")
        await off_loop(server.wait_for_messages, ANN, 1)
        async with httpx.AsyncClient() as client:
            forged = {"update_id": 7, "message": {}}
            assert (await client.post(f"{url}/telegram", json=forged)).status_code == 403
            wrong = {"X-Telegram-Bot-Api-Secret-Token": "guess"}
            assert (await client.post(f"{url}/telegram", json=forged, headers=wrong)).status_code == 403
            for _ in range(50):
                health = await client.get(f"{url}/health")
                if health.json()["waiting"] == 0:
                    break
                await asyncio.sleep(0.1)
            assert (health.status_code, health.json()) == (200, {"status": "ok", "waiting": 0})
    assert texts(server, ANN) == ["echo: hello"]
    # Without the setting it polls again: the webhook is taken away first.
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "and now?")
        await off_loop(server.wait_for_messages, ANN, 2)


async def test_a_webhook_port_that_is_taken_is_a_clear_error(
    server: TelegramServer, memory: MemoryManager
) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    app = await assistant(
        server, memory, None, telegram_webhook_url="http://127.0.0.1:1", telegram_webhook_port=port
    )
    with pytest.raises(SettingError, match="TELEGRAM_WEBHOOK_PORT"):
        await talk(app, asyncio.Event())
