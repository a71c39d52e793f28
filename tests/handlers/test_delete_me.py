"""/delete_me: nothing goes without the person's own second tap, in time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from handlers import press, receive
from handlers.delete_me import EXPIRES_SECONDS
from keepsake.assistant import Assistant
from keepsake.errors import ErasureHeld
from keepsake.locales import translate
from tests.handlers.fakes import START, FakeMemory, FakeModel, RecordingChat, an_assistant


async def asked(memory: FakeMemory) -> tuple[Assistant, RecordingChat]:
    """Somebody who has said two things and sent the command."""
    app, chat = an_assistant(memory, FakeModel()), RecordingChat()
    app.clock = lambda: START
    await receive(app, chat, "my cat is called Tom")
    await receive(app, chat, "/delete_me")
    return app, chat


async def test_it_says_what_goes_and_what_it_cannot_reach_and_asks() -> None:
    memory = FakeMemory()
    _, chat = await asked(memory)
    assert "2 messages, 1 conversation, 0 facts" in chat.shown[-1]
    for beyond in ("Telegram", "provider", "journal", "backups"):
        assert beyond in chat.shown[-1]
    assert "Tom" not in chat.shown[-1]
    assert [button.label for button in chat.buttons] == [
        translate("en", "delete-me-yes"),
        translate("en", "delete-me-no"),
    ]
    assert all(len(button.data.encode()) <= 64 for button in chat.buttons)
    assert memory.erasures == []


async def test_the_second_tap_erases_and_ends_with_the_receipt() -> None:
    memory = FakeMemory()
    app, chat = await asked(memory)
    await press(app, chat, chat.buttons[0].data)
    assert memory.erasures == [(7, None)]
    assert chat.shown[-1] == translate("en", "delete-me-done", seq="1", sha256="ab12")


async def test_no_is_no() -> None:
    memory = FakeMemory()
    app, chat = await asked(memory)
    await press(app, chat, chat.buttons[1].data)
    assert memory.erasures == []
    assert chat.shown[-1] == translate("en", "delete-me-kept")


async def test_the_press_of_another_person_does_nothing() -> None:
    memory = FakeMemory()
    app, chat = await asked(memory)
    other = RecordingChat(user_id=8)
    await press(app, other, chat.buttons[0].data)
    assert (memory.erasures, other.shown) == ([], [])


@pytest.mark.parametrize("later", [EXPIRES_SECONDS + 1, -1])
async def test_a_late_press_or_one_from_the_future_is_too_late(later: int) -> None:
    memory = FakeMemory()
    app, chat = await asked(memory)
    app.clock = lambda: START + timedelta(seconds=later)
    await press(app, chat, chat.buttons[0].data)
    assert memory.erasures == []
    assert chat.shown[-1] == translate("en", "delete-me-late")


@pytest.mark.parametrize("data", ["", "yes", "yes:7", "yes:7:x", "yes:x:1", "yes:7:1:2", "yes:²:1"])
async def test_a_press_that_no_button_makes_does_nothing(data: str) -> None:
    memory = FakeMemory()
    app, chat = await asked(memory)
    before = list(chat.shown)
    await press(app, chat, f"delete_me:{data}")
    assert (memory.erasures, chat.shown) == ([], before)


async def test_a_legal_hold_is_told() -> None:
    memory = FakeMemory()
    app, chat = await asked(memory)
    memory.failure = ErasureHeld("court order")
    await press(app, chat, chat.buttons[0].data)
    assert chat.shown[-1] == translate("en", "delete-me-held")
    assert "court" not in chat.shown[-1]
