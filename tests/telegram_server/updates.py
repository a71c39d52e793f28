"""Updates that wait for the bot, and the two ways to it: getUpdates and a webhook."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.telegram_server.rules import Parameters, RefusedError, bad, parsed, whole

Json = dict[str, Any]

# Sent only to a bot that asks for them by name.
_OPT_IN = frozenset(("chat_member", "message_reaction", "message_reaction_count"))
_POLLED = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_HOOKED = "Conflict: terminated by setWebhook request"
_HOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)


@dataclass(frozen=True)
class Webhook:
    """`secret` is empty where none was given."""

    url: str
    secret: str
    max_connections: int


class Updates:
    """What waits, in order. Everything is called with `changed` held."""

    def __init__(self, changed: threading.Condition) -> None:
        self.webhook: Webhook | None = None
        self.last_error = ""
        self._changed = changed
        self._allowed: list[str] = []
        self._all: dict[int, Json] = {}
        self._waiting: dict[int, Json] = {}
        self._again: set[int] = (
            set()
        )  # put back by Telegram: an offset does not confirm them until they are seen
        self._last = 1000
        self._poll = 0

    def push(self, fields: Json) -> Json:
        self._last += 1
        update = {"update_id": self._last, **fields}
        self._all[self._last] = self._waiting[self._last] = update
        self._changed.notify_all()
        return update

    def redeliver(self, update_id: int) -> None:
        self._waiting.setdefault(update_id, self._all[update_id])
        self._again.add(update_id)
        self._changed.notify_all()

    def confirm(self, update_id: int) -> None:
        self._waiting.pop(update_id, None)
        self._again.discard(update_id)

    def wanted(self) -> list[Json]:
        """The waiting updates of the kinds that the bot asked for."""
        return [update for update in self._waiting.values() if self._is_wanted(update)]

    def get(self, parameters: Parameters) -> list[Json]:
        """getUpdates."""
        if self.webhook is not None:
            raise RefusedError(409, _HOOK_ACTIVE)
        self._allow(parameters)
        self._confirm_before(whole(parameters, "offset"))
        self._poll += 1
        mine = self._poll
        self._changed.notify_all()
        self._changed.wait_for(
            lambda: self._poll != mine or self.wanted(), timeout=whole(parameters, "timeout")
        )
        if self._poll != mine:
            raise RefusedError(409, _HOOKED if self.webhook else _POLLED)
        given = self.wanted()[: whole(parameters, "limit", 100)]
        self._again.difference_update(update["update_id"] for update in given)
        return given

    def set_webhook(self, parameters: Parameters) -> bool:
        url, secret = parameters.get("url", ""), parameters.get("secret_token", "")
        most = whole(parameters, "max_connections", 40)
        if not url:
            return self.delete_webhook(parameters)
        if urlsplit(url).scheme != "http" or urlsplit(url).hostname != "127.0.0.1":
            raise bad("bad webhook: this server reaches http://127.0.0.1 only")
        if "secret_token" in parameters and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
            raise bad("secret token contains unallowed characters")
        if not 1 <= most <= 100:
            raise bad("max_connections must be between 1 and 100")
        self._allow(parameters)
        self._clear(parameters)
        self.webhook, self.last_error = Webhook(url, secret, most), ""
        self._poll += 1
        return True

    def delete_webhook(self, parameters: Parameters) -> bool:
        self._clear(parameters)
        self.webhook = None
        return True

    def webhook_info(self, _: Parameters) -> Json:
        info: Json = {
            "url": self.webhook.url if self.webhook else "",
            "has_custom_certificate": False,
            "pending_update_count": len(self._waiting),
        }
        if self.webhook:
            info["max_connections"] = self.webhook.max_connections
        if self._allowed:
            info["allowed_updates"] = self._allowed
        if self.last_error:
            info["last_error_message"] = self.last_error
        return info

    def _allow(self, parameters: Parameters) -> None:
        """What was asked for the last time holds until something else is."""
        kinds = parsed(parameters, "allowed_updates", self._allowed)
        if not isinstance(kinds, list):
            raise bad("can't parse allowed_updates")
        self._allowed = kinds

    def _is_wanted(self, update: Json) -> bool:
        if self._allowed:
            return not update.keys().isdisjoint(self._allowed)
        return update.keys().isdisjoint(_OPT_IN)

    def _clear(self, parameters: Parameters) -> None:
        if parameters.get("drop_pending_updates", "").lower() in ("true", "1"):
            self._waiting.clear()

    def _confirm_before(self, offset: int) -> None:
        """A negative offset keeps so many of the newest."""
        if offset < 0:
            gone = list(self._waiting)[:offset]
        else:
            gone = [number for number in self._waiting if number < offset and number not in self._again]
        for number in gone:
            self.confirm(number)
