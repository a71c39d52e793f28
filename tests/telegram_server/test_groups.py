from __future__ import annotations

from typing import Any

import pytest

from tests.telegram_server.rules import RefusedError
from tests.telegram_server.state import State

ANN, GROUP = 7, -100_5


@pytest.fixture
def state() -> State:
    return State(limits=False)


def send(state: State, chat_id: int, **more: str) -> Any:
    return state.call("sendMessage", {"chat_id": str(chat_id), "text": "hi", **more})


@pytest.mark.parametrize(
    ("text", "is_heard"),
    [
        ("hello all", False),
        ("/ask what", True),
        ("/ask@keepsake_test_bot what", True),
        ("/ask@another_bot what", False),
        ("well, @Keepsake_Test_Bot?", True),
        ("😀 @keepsake_test_bot", True),
        ("@keepsake_test_bot_2", False),
    ],
)
def test_a_bot_in_privacy_mode_hears_what_is_meant_for_it(state: State, text: str, is_heard: bool) -> None:
    update = state.push_text(ANN, text, chat=state.add_group(GROUP, "Friends"))
    assert state.call("getUpdates", {}) == ([update] if is_heard else [])
    assert ("update_id" in update) is is_heard


def test_it_hears_replies_to_itself(state: State) -> None:
    group = state.add_group(GROUP, "Friends")
    mine = send(state, GROUP)
    theirs = state.push_text(ANN, "hello all", chat=group)["message"]
    state.push_text(ANN, "to each other", chat=group, reply_to_message=theirs)
    update = state.push_text(ANN, "to the bot", chat=group, reply_to_message=mine)
    assert state.call("getUpdates", {}) == [update]


def test_without_privacy_mode_it_hears_all(state: State) -> None:
    group = state.add_group(GROUP, "Friends", privacy=False)
    update = state.push_text(ANN, "hello all", chat=group)
    assert state.call("getUpdates", {}) == [update]


def test_topics(state: State) -> None:
    group = state.add_group(GROUP, "Friends", privacy=False, topics=True)
    message = state.push_text(ANN, "hello topic", chat=group, message_thread_id=31)["message"]
    assert (message["is_topic_message"], message["chat"]["is_forum"]) == (True, True)
    sent = send(state, GROUP, message_thread_id="31")
    assert (sent["message_thread_id"], sent["is_topic_message"]) == (31, True)
    assert "message_thread_id" not in send(state, GROUP)
    with pytest.raises(RefusedError, match="message thread not found"):
        send(state, GROUP, message_thread_id="32")
    edit = {"chat_id": str(GROUP), "message_id": str(sent["message_id"]), "text": "edited"}
    with pytest.raises(RefusedError, match="message thread not found"):
        state.call("editMessageText", {**edit, "message_thread_id": "32"})
    assert state.call("editMessageText", edit)["message_thread_id"] == 31


def test_a_draft_in_an_unknown_topic(state: State) -> None:
    state.push_text(ANN, "hello", message_thread_id=31)
    draft = {"chat_id": str(ANN), "draft_id": "1", "text": "x"}
    assert state.call("sendMessageDraft", {**draft, "message_thread_id": "31"})
    with pytest.raises(RefusedError, match="message thread not found"):
        state.call("sendMessageDraft", {**draft, "message_thread_id": "32"})


def test_a_group_that_became_a_supergroup_tells_where_it_is(state: State) -> None:
    state.add_group(-5, "Friends", privacy=False)
    after = state.upgrade_group(-5, GROUP, tell=True)
    with pytest.raises(RefusedError, match="upgraded to a supergroup") as refused:
        send(state, -5)
    assert refused.value.parameters == {"migrate_to_chat_id": GROUP}
    assert send(state, GROUP)["chat"] == after
    assert (after["type"], after["title"]) == ("supergroup", "Friends")
    first, second = (update["message"] for update in state.call("getUpdates", {}))
    assert (first["chat"]["id"], first["migrate_to_chat_id"]) == (-5, GROUP)
    assert (second["chat"]["id"], second["migrate_from_chat_id"]) == (GROUP, -5)
    assert state.rejected == []


def test_others_messages_in_a_group_are_not_deleted(state: State) -> None:
    heard = state.push_text(ANN, "/x", chat=state.add_group(GROUP, "Friends"))["message"]
    with pytest.raises(RefusedError, match="can't be deleted"):
        state.call("deleteMessage", {"chat_id": str(GROUP), "message_id": str(heard["message_id"])})
