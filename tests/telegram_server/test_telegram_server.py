"""The server must refuse what Telegram refuses, or tests against it prove nothing."""

from __future__ import annotations

import json
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


def edit(state: State, message_id: int, text: str) -> Any:
    return state.call("editMessageText", {"chat_id": "7", "message_id": str(message_id), "text": text})


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("hi", {"chat_id": "8"}, "chat not found"),
        ("", {}, "text is empty"),
        (" \n", {}, "text is empty"),
        ("😀" * (LONGEST // 2 + 1), {}, "too long"),
        ("hi", {"parse_mode": "LaTeX"}, "unsupported parse_mode"),
        ("<b>hi", {"parse_mode": "HTML"}, "can't parse entities: "),
        ("hi", {"reply_parameters": {"message_id": 99}}, "replied not found"),
        ("hi", {"message_thread_id": 5}, "thread not found"),
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
    assert [method for method, _, _ in state.rejected] == ["sendMessage"]


def test_the_longest_message_passes(state: State) -> None:
    assert send(state, "😀" * (LONGEST // 2))["message_id"] > 0


def test_editing(state: State) -> None:
    number = send(state, "one")["message_id"]
    with pytest.raises(RefusedError, match="not modified"):
        edit(state, number, "one \n")
    assert edit(state, number, "two")["text"] == "two"
    with pytest.raises(RefusedError, match="to edit not found"):
        edit(state, 999, "two")


def test_what_a_person_wrote_is_not_edited(state: State) -> None:
    heard = state.push_text(7, "mine")["message"]["message_id"]
    with pytest.raises(RefusedError, match="message can't be edited"):
        edit(state, heard, "yours")


def test_deleting(state: State) -> None:
    number = send(state, "one")["message_id"]
    where = {"chat_id": "7", "message_id": str(number)}
    assert state.call("deleteMessage", where)
    assert (state.messages, state.deleted) == ([], [(7, number)])
    with pytest.raises(RefusedError, match="to delete not found"):
        state.call("deleteMessage", where)
    with pytest.raises(RefusedError, match="to edit not found"):
        edit(state, number, "two")


def test_a_draft_is_kept_apart_from_messages(state: State) -> None:
    for text in ("", "gro", "growing"):
        assert state.call("sendMessageDraft", {"chat_id": "7", "draft_id": "3", "text": text})
    assert [draft[:3] for draft in state.drafts] == [(7, 3, ""), (7, 3, "gro"), (7, 3, "growing")]
    assert state.messages == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"draft_id": "0"}, "draft_id"),
        ({"draft_id": "x"}, "draft_id"),
        ({"chat_id": "-5"}, "private chats only"),
        ({"text": "x" * (LONGEST + 1)}, "too long"),
        ({"entities": json.dumps([{"type": "bold", "offset": 0, "length": 9}])}, "ends after"),
    ],
)
def test_what_a_draft_may_not_be(state: State, more: dict[str, str], words: str) -> None:
    state.add_group(-5, "Friends")
    with pytest.raises(RefusedError, match=words):
        state.call("sendMessageDraft", {"chat_id": "7", "draft_id": "3", "text": "hi", **more})
    assert state.drafts == []


def test_a_person_who_blocks_the_bot(state: State) -> None:
    state.block(7)
    with pytest.raises(RefusedError, match="blocked by the user") as refused:
        send(state, "hi")
    assert refused.value.status == 403
    state.unblock(7)
    assert send(state, "hi again")
    state.remove_chat(7)
    with pytest.raises(RefusedError, match="chat not found"):
        send(state, "gone")
    assert state.rejected == []


def test_a_reply_holds_what_it_answers(state: State) -> None:
    heard = state.push_text(7, "question")["message"]
    assert (
        send(state, "answer", reply_parameters={"message_id": heard["message_id"]})["reply_to_message"]
        == heard
    )


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
