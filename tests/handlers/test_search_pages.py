"""/search page by page, and whose pages they are."""

from __future__ import annotations

import pytest

from handlers import press, receive
from handlers.search import SHOWN
from keepsake.assistant import Assistant
from keepsake.locales import translate
from tests.handlers.fakes import FakeMemory, FakeModel, RecordingChat, an_assistant

AGAIN = translate("en", "search-again")


async def an_assistant_that_knows(count: int) -> Assistant:
    memory = FakeMemory()
    for number in range(count):
        await memory.save_message(7, "user" if number % 2 else "assistant", f"tea number {number}")
    return an_assistant(memory, FakeModel())


def labels(chat: RecordingChat) -> list[str]:
    found = [button.label for button in chat.buttons]
    chat.buttons.clear()
    return found


async def test_pages_are_turned_forth_and_back() -> None:
    app, chat = await an_assistant_that_knows(12), RecordingChat()
    await receive(app, chat, "/search teas")
    assert chat.shown == [translate("en", "search-nothing")]  # this memory knows no word endings
    await receive(app, chat, "/search tea")
    forth = chat.buttons[0].data
    assert labels(chat) == ["Next ▶"]
    await press(app, chat, forth)
    both = [button.data for button in chat.buttons]
    assert labels(chat) == ["◀ Back", "Next ▶"]
    await press(app, chat, both[1])
    assert labels(chat) == ["◀ Back"]
    await press(app, chat, both[0])
    first, second, third, first_again = chat.shown[1:]
    assert first == first_again
    assert first.splitlines()[:2] == ["What I found, 1 to 5 of 12:", "• 2026-03-01, me: tea number 0"]
    assert second.splitlines()[1] == "• 2026-03-01, you: tea number 5"
    assert third.splitlines() == [
        "What I found, 11 to 12 of 12:",
        "• 2026-03-01, me: tea number 10",
        "• 2026-03-01, you: tea number 11",
    ]
    assert chat.bold == ["tea"] * 17
    assert len(app.searches) == 1


async def test_one_page_has_no_buttons_and_is_not_held() -> None:
    app, chat = await an_assistant_that_knows(SHOWN), RecordingChat()
    await receive(app, chat, "/search tea")
    assert chat.shown[0].startswith(translate("en", "search-title"))
    assert chat.buttons == []
    assert len(app.searches) == 0


async def test_data_fits_into_a_button_whoever_asks_whatever() -> None:
    memory, chat = FakeMemory(), RecordingChat(2**63 - 1)
    for _ in range(50):
        await memory.save_message(chat.user_id, "user", "tea")
    app = an_assistant(memory, FakeModel())
    await receive(app, chat, "/search tea " + "слово " * 600)
    for page in range(1, 10):
        await press(app, chat, chat.buttons[-1].data)
        assert chat.shown[-1].startswith(f"What I found, {5 * page + 1} to {5 * page + 5} of 50:")
    assert max(len(button.data.encode()) for button in chat.buttons) <= 64


async def test_somebody_elses_press_does_nothing() -> None:
    app, chat = await an_assistant_that_knows(12), RecordingChat()
    await receive(app, chat, "/search tea")
    other = RecordingChat(8)
    await press(app, other, chat.buttons[0].data)
    assert other.shown == []
    forged = chat.buttons[0].data.replace("search:7:", "search:8:")
    await press(app, other, forged)
    assert other.shown == [AGAIN]


async def test_after_a_restart_it_says_that_the_search_is_to_be_made_again() -> None:
    app, chat = await an_assistant_that_knows(12), RecordingChat()
    await receive(app, chat, "/search tea")
    restarted = an_assistant(FakeMemory(), FakeModel())
    await press(restarted, chat, chat.buttons[0].data)
    assert chat.shown[1:] == [AGAIN]


async def test_what_was_erased_is_on_no_page_any_more() -> None:
    app, chat = await an_assistant_that_knows(12), RecordingChat()
    assert isinstance(app.memory, FakeMemory)
    await receive(app, chat, "/search tea")
    del app.memory.messages[6:]
    await press(app, chat, chat.buttons[0].data)
    assert chat.shown[-1].splitlines()[1:] == ["• 2026-03-01, you: tea number 5"]
    app.memory.messages.clear()
    await press(app, chat, chat.buttons[0].data)
    assert chat.shown[-1] == AGAIN


@pytest.mark.parametrize(
    "rest", ["", "7", "7:", "7:abc", "7:abc:0", "x:abc:1", "7:{}:99", "7:{}:²", "7:{}:-1"]
)
async def test_odd_data_shows_nothing_odd(rest: str) -> None:
    app, chat = await an_assistant_that_knows(12), RecordingChat()
    await receive(app, chat, "/search tea")
    name = chat.buttons[0].data.split(":")[2]
    await press(app, chat, f"search:{rest.format(name)}")
    first = chat.shown[0]
    assert chat.shown[1:] in ([], [AGAIN], [first])
    assert translate("en", "something-went-wrong") not in chat.shown


async def test_a_page_is_one_message_whatever_stands_in_it() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    for _ in range(6):
        await memory.save_message(7, "user", "tea " + "😀" * 5_000, sender="😀 name " * 500)
    await receive(an_assistant(memory, FakeModel()), chat, "/search tea")
    assert len(chat.shown[0].encode("utf-16-le")) / 2 < 4096
    assert len(chat.bold) == SHOWN
