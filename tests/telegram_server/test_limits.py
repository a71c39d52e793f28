from __future__ import annotations

import pytest

from tests.telegram_server import TelegramServer
from tests.telegram_server.limits import SendingLimits
from tests.telegram_server.rules import RefusedError
from tests.telegram_server.state import State
from tests.telegram_server.tools import ask

SEND, EDIT = "sendMessage", "editMessageText"


def test_a_chat_gets_one_message_a_second() -> None:
    limits = SendingLimits()
    limits.admit(SEND, 7, 100.0)
    with pytest.raises(RefusedError, match="retry after 1") as refused:
        limits.admit(SEND, 7, 100.9)
    assert (refused.value.status, refused.value.parameters) == (429, {"retry_after": 1})
    limits.admit(SEND, 8, 100.9)
    limits.admit(EDIT, 7, 100.9)  # edits have a second of their own in a private chat
    limits.admit(SEND, 7, 100.96)
    with pytest.raises(RefusedError):
        limits.admit(EDIT, 7, 101.8)
    with pytest.raises(RefusedError):  # what came early once is not early again
        limits.admit(SEND, 7, 101.92)
    limits.admit(SEND, 7, 102.0)


def test_a_group_gets_twenty_in_a_minute_edits_too() -> None:
    limits = SendingLimits()
    for number in range(20):
        limits.admit(EDIT if number % 2 else SEND, -5, 100.0 + number)
    with pytest.raises(RefusedError, match="retry after 35"):
        limits.admit(SEND, -5, 125.0)
    limits.admit(SEND, 7, 125.0)
    limits.admit(EDIT, -5, 160.0)
    with pytest.raises(RefusedError, match="retry after 1"):
        limits.admit(SEND, -5, 160.5)


def test_all_chats_together_get_thirty_a_second_and_a_tenth() -> None:
    limits = SendingLimits()
    for number in range(33):
        limits.admit(SEND, 1 + number, 100.0 + number / 100)
    with pytest.raises(RefusedError, match="Too Many Requests"):
        limits.admit(SEND, 99, 100.5)
    limits.admit(SEND, 99, 101.0)


def test_the_server_keeps_them_by_its_own_clock() -> None:
    now = 100.0
    state = State(clock=lambda: now)
    state.push_text(7, "hello")
    state.call(SEND, {"chat_id": "7", "text": "one"})
    with pytest.raises(RefusedError, match="retry after 1"):
        state.call(SEND, {"chat_id": "7", "text": "two"})
    now = 101.0
    state.call(SEND, {"chat_id": "7", "text": "two"})
    assert [message["text"] for message in state.messages] == ["one", "two"]


def test_what_to_wait_is_told_and_limits_can_be_left_off() -> None:
    with TelegramServer(expect_rejected=True) as server:
        server.push_text(7, "hello")
        answers = [ask(server, SEND, chat_id=7, text=text) for text in ("one", "two")]
        assert answers[0]["ok"]
        assert answers[1]["parameters"] == {"retry_after": 1}
        assert [status for _, status, _ in server.state.rejected] == [429]
    with TelegramServer(limits=False) as server:
        server.push_text(7, "hello")
        assert all(ask(server, SEND, chat_id=7, text=text)["ok"] for text in ("one", "two"))
