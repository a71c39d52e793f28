"""The thread that brings updates to a webhook: one at a time, in order, again until they are taken."""

from __future__ import annotations

import json
import threading
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from tests.telegram_server.updates import Json, Updates, Webhook

PAUSE_SECONDS = 0.2  # before an update that was not taken is brought again
_PATIENCE_SECONDS = 60.0


class Deliverer:
    """Runs from `start` to `stop`; nothing leaves while `paused` is set."""

    def __init__(self, updates: Updates, changed: threading.Condition) -> None:
        self.paused = False
        self._updates = updates
        self._changed = changed
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(1.0)  # a webhook that never answers holds nobody up

    def _run(self) -> None:
        while (due := self._next()) is not None:
            error = _post(*due)
            with self._changed:
                self._updates.last_error = error
                if not error:
                    self._updates.confirm(due[1]["update_id"])
                self._changed.notify_all()
            if error:
                self._ended.wait(PAUSE_SECONDS)

    def _next(self) -> tuple[Webhook, Json] | None:
        """Waits for an update that is to be brought; None at the end."""

        def is_due() -> bool:
            if self._ended.is_set():
                return True
            return not self.paused and self._updates.webhook is not None and bool(self._updates.wanted())

        with self._changed:
            self._changed.wait_for(is_due)
            if self._ended.is_set() or self._updates.webhook is None:
                return None
            return self._updates.webhook, self._updates.wanted()[0]


def _post(webhook: Webhook, update: Json) -> str:
    """Empty where the update was taken, else what went wrong."""
    place = urlsplit(webhook.url)
    headers = {"Content-Type": "application/json"}
    if webhook.secret:
        headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret
    connection = HTTPConnection(str(place.hostname), place.port or 80, timeout=_PATIENCE_SECONDS)
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    try:
        connection.request("POST", target, json.dumps(update).encode(), headers)
        response = connection.getresponse()
        response.read()
    except (OSError, HTTPException) as error:
        return f"Connection failed: {type(error).__name__}"
    finally:
        connection.close()
    if 200 <= response.status < 300:
        return ""
    return f"Wrong response from the webhook: {response.status} {response.reason}"
