"""A bare client of the server, and a webhook."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.telegram_server import TelegramServer

JSON = {"Content-Type": "application/json"}


def ask(server: TelegramServer, method: str, **parameters: Any) -> dict[str, Any]:
    """The whole answer of a call, on a connection of its own. Raises OSError or HTTPException without one."""
    connection = HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=20)
    try:
        connection.request("POST", f"/bot{server.token}/{method}", json.dumps(parameters).encode(), JSON)
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


class Hook:
    """Takes updates, after as many refusals as `statuses` holds."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.seen: list[tuple[int, str]] = []  # update_id and secret token, of refused ones too
        self.changed = threading.Condition()
        self.url = ""

    def take(self, update: dict[str, Any], secret: str) -> int:
        with self.changed:
            self.seen.append((update["update_id"], secret))
            self.changed.notify_all()
            return self.statuses.pop(0) if self.statuses else 200

    def wait_for(self, count: int) -> list[int]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.seen) >= count, 20), self.seen
            return [number for number, _ in self.seen]


@contextmanager
def listening_hook() -> Iterator[Hook]:
    hook = Hook()

    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            update = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(hook.take(update, self.headers.get("X-Telegram-Bot-Api-Secret-Token", "")))
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Request) as http:
        hook.url = f"http://127.0.0.1:{http.server_address[1]}/hook"
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield hook
        finally:
            http.shutdown()
            thread.join()
