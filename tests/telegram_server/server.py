"""The server over HTTP, and what a test does with it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl

from tests.telegram_server.rules import RefusedError
from tests.telegram_server.state import Json, State

TOKEN = "4242:TEST-token_of_the_local_server_0123456789"


class TelegramServer:
    """A running server. `url` is what TELEGRAM_API_URL takes; use it as a context manager."""

    def __init__(self, token: str = TOKEN, port: int = 0) -> None:
        self.token = token
        self.state = State()
        self._http = _Http(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> TelegramServer:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

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
        super().__init__(address, _Request)
        self.telegram = server


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            result = self._result(body)
        except RefusedError as refused:
            answer: Json = {"ok": False, "error_code": refused.status, "description": refused.description}
            if refused.retry_after is not None:
                answer["parameters"] = {"retry_after": refused.retry_after}
            self._answer(refused.status, answer)
        else:
            self._answer(200, {"ok": True, "result": result})

    do_GET = do_POST  # noqa: N815

    def _result(self, body: bytes) -> Any:
        telegram = self.server.telegram
        prefix, _, method = self.path.lstrip("/").partition("/")
        if not prefix.startswith("bot") or not method:
            raise RefusedError(404, "Not Found")
        if prefix.removeprefix("bot") != telegram.token:
            raise RefusedError(401, "Unauthorized")
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        if body and kind not in ("application/x-www-form-urlencoded", "application/json"):
            raise RefusedError(415, f"Unsupported Media Type: {kind}")
        return telegram.state.call(method, _parameters(kind, body))

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


def _parameters(kind: str, body: bytes) -> dict[str, str]:
    if kind == "application/json":
        values = json.loads(body).items()
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values}
    return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
