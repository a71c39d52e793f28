"""The server must refuse what Telegram refuses, or tests against it prove nothing."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.telegram_server.rules import LONGEST, RefusedError
from tests.telegram_server.state import State


@pytest.fixture
def state() -> State:
    state = State()
    state.push_text(7, "hello")
    return state


def send(state: State, text: str, **more: Any) -> Any:
    parameters = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in more.items()
    }
    return state.call("sendMessage", {"chat_id": "7", "text": text, **parameters})


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("hi", {"chat_id": "8"}, "chat not found"),
        ("", {}, "text is empty"),
        (" \n", {}, "text is empty"),
        ("😀" * (LONGEST // 2 + 1), {}, "too long"),
        ("hi", {"parse_mode": "HTML"}, "parse_mode"),
        ("hi", {"entities": "x"}, "can't parse entities"),
        ("hi", {"entities": [{"type": "bold", "offset": 1, "length": 2}]}, "ends after"),
        ("hi", {"entities": [{"type": "bold", "offset": 0, "length": 0}]}, "wrong bounds"),
        ("hi", {"entities": [{"type": "loud", "offset": 0, "length": 1}]}, "unsupported type"),
        ("😀", {"entities": [{"type": "bold", "offset": 0, "length": 1}]}, "inside of a UTF-16 pair"),
        ("hi", {"entities": [{"type": "text_link", "offset": 0, "length": 1}]}, "needs a url"),
        ("hi", {"entities": [{"type": "bold", "offset": 0, "length": 1}] * 101}, "too many entities"),
        (
            "hi",
            {"reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "x" * 65}]]}},
            "BUTTON_DATA_INVALID",
        ),
    ],
)
def test_what_a_message_may_not_be(state: State, text: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        send(state, text, **more)
    assert state.messages == []


def test_the_longest_message_passes(state: State) -> None:
    assert send(state, "😀" * (LONGEST // 2))["message_id"] > 0


def test_updates_come_again_until_they_are_confirmed(state: State) -> None:
    (first,) = state.call("getUpdates", {})
    assert state.call("getUpdates", {}) == [first]
    assert state.call("getUpdates", {"offset": str(first["update_id"] + 1)}) == []
    second = state.push_text(7, "again")
    assert state.call("getUpdates", {}) == [second]


def test_a_second_poll_ends_the_first(state: State) -> None:
    (first,) = state.call("getUpdates", {})
    refused: list[int] = []

    def poll() -> None:
        try:
            state.call("getUpdates", {"offset": str(first["update_id"] + 1), "timeout": "30"})
        except RefusedError as error:
            refused.append(error.status)

    thread = threading.Thread(target=poll)
    thread.start()
    with state.changed:
        assert state.changed.wait_for(lambda: len(state.calls) == 2, 10)
    state.call("getUpdates", {"timeout": "0"})
    thread.join(10)
    assert refused == [409]


def test_editing(state: State) -> None:
    message = send(state, "one")
    where = {"chat_id": "7", "message_id": str(message["message_id"])}
    with pytest.raises(RefusedError, match="not modified"):
        state.call("editMessageText", {**where, "text": "one"})
    assert state.call("editMessageText", {**where, "text": "two"})["text"] == "two"
    with pytest.raises(RefusedError, match="not found"):
        state.call("editMessageText", {**where, "message_id": "999", "text": "two"})


def test_a_press_is_acknowledged_once(state: State) -> None:
    message = send(state, "choose")
    query = state.push_press(message, "x")["callback_query"]["id"]
    assert state.call("answerCallbackQuery", {"callback_query_id": query})
    with pytest.raises(RefusedError, match="too old"):
        state.call("answerCallbackQuery", {"callback_query_id": query})


def test_commands_have_telegrams_form(state: State) -> None:
    with pytest.raises(RefusedError, match="BOT_COMMAND_INVALID"):
        state.call("setMyCommands", {"commands": json.dumps([{"command": "Bad", "description": "x"}])})
    with pytest.raises(RefusedError, match="method not found"):
        state.call("sendPigeon", {})
