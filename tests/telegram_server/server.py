"""The server over HTTP, and what a test does with it."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl

from tests.telegram_server.rules import RefusedError
from tests.telegram_server.script import SOUND
from tests.telegram_server.state import Json, State
from tests.telegram_server.webhook import Deliverer

TOKEN = "4242:TEST-token_of_the_local_server_0123456789"


class TelegramServer:
    """A running server. `url` is what TELEGRAM_API_URL takes; use it as a context manager.

    At its end it raises AssertionError for what the bot did against the rules (`state.rejected`), unless that is
    what a test expects. A wrong token is not among it: whose call it was cannot be told.
    """

    def __init__(
        self, token: str = TOKEN, port: int = 0, *, limits: bool = True, expect_rejected: bool = False
    ) -> None:
        self.token = token
        self.state = State(limits=limits)
        self._expect_rejected = expect_rejected
        self._http = _Http(("127.0.0.1", port), self)
        self._port = int(self._http.server_address[1])
        self._deliverer = Deliverer(self.state.updates, self.state.changed)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> TelegramServer:
        self._http.start()
        self._deliverer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._deliverer.stop()
        self._http.stop()
        if kind is None and not self._expect_rejected:
            assert not self.state.rejected, f"refused by the rules: {self.state.rejected}"

    @contextmanager
    def offline(self) -> Iterator[None]:
        """Nobody reaches the server, and it reaches no webhook; connections that stand are broken."""
        self._deliverer.paused = True
        self._http.stop()
        try:
            yield
        finally:
            self._http = _Http(("127.0.0.1", self._port), self)
            self._http.start()
            with self.state.changed:
                self._deliverer.paused = False
                self.state.changed.notify_all()

    def push_text(self, user_id: int, text: str, **more: Any) -> Json:
        """A person writes to the bot."""
        return self.state.push_text(user_id, text, **more)

    def messages(self, chat_id: int) -> list[Json]:
        """What the bot has said in a chat so far."""
        with self.state.changed:
            return [message for message in self.state.messages if message["chat"]["id"] == chat_id]

    def wait_for_messages(self, chat_id: int, count: int, timeout: float = 20.0) -> list[Json]:
        """All that the bot said in a chat, as soon as there are `count` messages; AssertionError without."""
        with self.state.changed:
            came = self.state.changed.wait_for(lambda: len(self.messages(chat_id)) >= count, timeout)
        assert came, f"{len(self.messages(chat_id))} of {count} messages came"
        return self.messages(chat_id)

    def wait_for_text(self, chat_id: int, text: str, timeout: float = 20.0) -> None:
        """Returns when the bot has said just this in a chat; AssertionError if it does not."""
        with self.state.changed:
            came = self.state.changed.wait_for(
                lambda: any(message["text"] == text for message in self.messages(chat_id)), timeout
            )
        assert came, f"the bot did not say {text!r}"

    def wait_for_call(self, method: str, count: int = 1, timeout: float = 20.0) -> list[dict[str, str]]:
        """The parameters of a method's calls, as soon as there are `count`; AssertionError without."""

        def calls() -> list[dict[str, str]]:
            return [parameters for name, parameters in self.state.calls if name == method]

        with self.state.changed:
            came = self.state.changed.wait_for(lambda: len(calls()) >= count, timeout)
            assert came, f"{len(calls())} of {count} calls of {method} came"
            return calls()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], server: TelegramServer) -> None:
        self.telegram = server
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Request)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends listening, and the connections too."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._lock:
            for connection in self._open:
                _break(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke in the middle is no error of the server's."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        if len(body) < size:  # whoever asked was killed in the middle of it
            self.close_connection = True
            return
        fault, answer, status = SOUND, {}, 200
        try:
            method, parameters = self._asked(body)
            state = self.server.telegram.state
            fault = state.fault(method)
            if fault.dropped_before:
                state.arrive(method, parameters)
            else:
                answer = {"ok": True, "result": state.call(method, parameters, self._is_gone)}
        except RefusedError as refused:
            status = refused.status
            answer = {"ok": False, "error_code": status, "description": refused.description}
            if refused.parameters:
                answer["parameters"] = refused.parameters
        if fault.dropped_before or fault.dropped_after:
            self.close_connection = True
            _break(self.connection)
            return
        time.sleep(fault.late_seconds)
        self._answer(status, answer)

    do_GET = do_POST  # noqa: N815

    def _asked(self, body: bytes) -> tuple[str, dict[str, str]]:
        prefix, _, method = self.path.partition("?")[0].lstrip("/").partition("/")
        if not prefix.startswith("bot") or not method:
            raise RefusedError(404, "Not Found")
        if prefix.removeprefix("bot") != self.server.telegram.token:
            raise RefusedError(401, "Unauthorized")
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        if body and kind not in ("application/x-www-form-urlencoded", "application/json"):
            raise RefusedError(415, f"Unsupported Media Type: {kind}")
        return method, _parameters(kind, body)

    def _is_gone(self) -> bool:
        """Has the client closed the connection?"""
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _answer(self, status: int, answer: Json) -> None:
        data = json.dumps(answer).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # a long poll whose asker has gone

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing: requests hold the token."""


def _break(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _parameters(kind: str, body: bytes) -> dict[str, str]:
    if kind == "application/json":
        values = json.loads(body).items()
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values}
    return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
