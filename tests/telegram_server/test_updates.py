from __future__ import annotations

import json
import socket
import threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.telegram_server import TelegramServer
from tests.telegram_server.rules import RefusedError
from tests.telegram_server.state import State
from tests.telegram_server.tools import ask, listening_hook

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def state() -> State:
    state = State()
    state.push_text(7, "hello")
    return state


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


def test_a_poller_that_was_killed_is_no_second_poller() -> None:
    with TelegramServer() as server:
        connection = HTTPConnection("127.0.0.1", urlsplit(server.url).port)
        connection.request("POST", f"/bot{server.token}/getUpdates", "timeout=30", FORM)
        server.wait_for_call("getUpdates")
        assert connection.sock is not None
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
        assert ask(server, "getUpdates")["ok"]
    assert server.state.rejected == []


def test_what_a_test_left_unexpected_fails_it() -> None:
    with pytest.raises(AssertionError, match="chat not found"), TelegramServer() as server:
        ask(server, "sendMessage", chat_id=8, text="hi")
    with TelegramServer(expect_rejected=True) as server:
        ask(server, "sendMessage", chat_id=8, text="hi")
    with TelegramServer() as server:
        ask(server, "sendMessage", chat_id=8, text="hi")
        server.state.rejected.clear()
    with TelegramServer() as server:
        server.state.refuse_next("sendMessage", RefusedError(400, "Bad Request: as the test said"))
        assert not ask(server, "sendMessage", chat_id=8, text="hi")["ok"]


def test_what_a_test_raises_itself_comes_first() -> None:
    server = TelegramServer().__enter__()
    ask(server, "sendMessage", chat_id=8, text="hi")
    server.__exit__(ValueError, ValueError("its own"), None)
    assert len(server.state.rejected) == 1


def test_an_update_may_come_twice(state: State) -> None:
    (first,) = state.call("getUpdates", {})
    after = {"offset": str(first["update_id"] + 1)}
    assert state.call("getUpdates", after) == []
    state.redeliver(first["update_id"])
    assert state.call("getUpdates", after) == [first]
    assert state.call("getUpdates", after) == []


def test_any_json_can_be_an_update(state: State) -> None:
    raw = state.push_raw({"message": {"message_id": "not a number"}, "news": [1]})
    assert state.call("getUpdates", {})[-1] == raw
    assert raw["update_id"] > 0


def test_only_the_kinds_that_were_asked_for_come(state: State) -> None:
    state.push_raw({"message_reaction": {}})
    assert len(state.call("getUpdates", {})) == 1
    (reaction,) = state.call("getUpdates", {"allowed_updates": json.dumps(["message_reaction"])})
    assert state.call("getUpdates", {}) == [reaction]  # it holds until another is asked for
    assert len(state.call("getUpdates", {"allowed_updates": "[]"})) == 1


def test_a_webhook_gets_updates_in_order_until_it_takes_them() -> None:
    with TelegramServer(expect_rejected=True) as server, listening_hook() as hook:
        first = server.push_text(7, "before it was set")["update_id"]
        hook.statuses = [500, 403]
        assert ask(server, "setWebhook", url=hook.url, secret_token="s-3_C", max_connections=1)["ok"]
        second = server.push_text(7, "after")["update_id"]
        assert hook.wait_for(4) == [first, first, first, second]
        assert {secret for _, secret in hook.seen} == {"s-3_C"}
        refused = ask(server, "getUpdates")
        assert (refused["error_code"], "webhook is active" in refused["description"]) == (409, True)
        info = ask(server, "getWebhookInfo")["result"]
        assert (info["url"], info["max_connections"]) == (hook.url, 1)
        assert ask(server, "deleteWebhook")["ok"]
        third = server.push_text(7, "polled")["update_id"]
        assert ask(server, "getUpdates")["result"][-1]["update_id"] == third
        assert ask(server, "getWebhookInfo")["result"]["url"] == ""


def test_a_webhook_that_was_away_gets_everything() -> None:
    with TelegramServer() as server:
        with listening_hook() as hook:
            gone = hook.url
        ask(server, "setWebhook", url=gone)
        numbers = [server.push_text(7, str(number))["update_id"] for number in range(3)]
        with server.state.changed:
            failed = server.state.changed.wait_for(lambda: server.state.updates.last_error, 20)
        assert failed
        assert ask(server, "getWebhookInfo")["result"]["pending_update_count"] == 3
        with listening_hook() as hook:
            ask(server, "setWebhook", url=hook.url, allowed_updates=["message"])
            assert hook.wait_for(3) == numbers
            server.state.redeliver(numbers[0])
            assert hook.wait_for(4)[-1] == numbers[0]


def test_what_waits_can_be_dropped(state: State) -> None:
    state.call("deleteWebhook", {"drop_pending_updates": "true"})
    assert state.call("getUpdates", {}) == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"url": "http://example.org/"}, "bad webhook"),
        ({"url": "http://127.0.0.1:1/", "secret_token": "with space"}, "unallowed characters"),
        ({"url": "http://127.0.0.1:1/", "secret_token": "x" * 257}, "unallowed characters"),
        ({"url": "http://127.0.0.1:1/", "max_connections": "0"}, "max_connections"),
    ],
)
def test_what_a_webhook_may_not_be(state: State, parameters: dict[str, str], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        state.call("setWebhook", parameters)
    assert state.call("getWebhookInfo", {})["url"] == ""
