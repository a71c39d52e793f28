from __future__ import annotations

import time
from collections.abc import Iterator
from http.client import HTTPException

import pytest

from tests.telegram_server import TelegramServer
from tests.telegram_server.tools import ask, listening_hook


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(limits=False) as running:
        running.push_text(7, "hello")
        yield running


def test_an_answer_that_is_lost(server: TelegramServer) -> None:
    server.state.lose_answer("sendMessage", times=2)
    for text in ("one", "two"):
        with pytest.raises((OSError, HTTPException)):
            ask(server, "sendMessage", chat_id=7, text=text)
    assert ask(server, "sendMessage", chat_id=7, text="three")["ok"]
    assert [message["text"] for message in server.messages(7)] == ["one", "two", "three"]


def test_a_call_that_never_arrives(server: TelegramServer) -> None:
    server.state.drop("sendMessage")
    with pytest.raises((OSError, HTTPException)):
        ask(server, "sendMessage", chat_id=7, text="one")
    assert server.messages(7) == []
    assert ask(server, "getMe")["ok"]
    assert ask(server, "sendMessage", chat_id=7, text="two")["ok"]
    assert len(server.wait_for_call("sendMessage", 2)) == 2


def test_an_answer_that_is_late(server: TelegramServer) -> None:
    server.state.slow("sendMessage", 0.5)
    began = time.monotonic()
    assert ask(server, "sendMessage", chat_id=7, text="one")["ok"]
    assert time.monotonic() - began >= 0.5


def test_a_server_that_is_away(server: TelegramServer) -> None:
    url = server.url
    with server.offline(), pytest.raises(ConnectionRefusedError):
        ask(server, "getMe")
    assert server.url == url
    assert ask(server, "getMe")["ok"]
    with server.offline():
        pass
    assert ask(server, "getMe")["ok"]


def test_a_server_that_is_away_reaches_no_webhook(server: TelegramServer) -> None:
    with listening_hook() as hook:
        ask(server, "setWebhook", url=hook.url)
        (first,) = hook.wait_for(1)
        with server.offline():
            second = server.push_text(7, "meanwhile")["update_id"]
            time.sleep(0.3)
            assert hook.wait_for(1) == [first]
        assert hook.wait_for(2) == [first, second]
