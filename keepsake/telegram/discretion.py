"""Which updates are not to be written into memory.db, not even while they are worked on."""

from __future__ import annotations

from typing import Any

from handlers.dispatch import parse_command
from keepsake.privacy import Privacy

Json = dict[str, Any]

_ASKING = ("pause", "incognito")


class Discretion:
    """Decides when an update arrives, which is before those in front of it are handled."""

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self._asking: dict[int, int] = {}  # by update, who asks in it that nothing be kept

    def wanted(self, update_id: int, user_id: int | None, raw: Json) -> bool:
        """Is this update not to be kept?

        It is not where its person has asked for that, also where the command still waits in front of it; and of who
        ever asked, what may quote words of then: edits and replies.
        """
        if user_id is None:
            return False
        if _asks(raw):
            self._asking[update_id] = user_id
        private = self._privacy.mode(user_id) is not None or user_id in self._asking.values()
        return private or (self._privacy.ever(user_id) and _may_quote(raw))

    def done(self, update_id: int) -> None:
        """The update was handled: if it was the command, the person's state says so from now on."""
        self._asking.pop(update_id, None)


def _asks(raw: Json) -> bool:
    message = raw.get("message")
    text = message.get("text") if isinstance(message, dict) else None
    command = parse_command(text) if isinstance(text, str) else None
    return command is not None and command[0] in _ASKING


def _may_quote(raw: Json) -> bool:
    message = raw.get("message")
    replies = isinstance(message, dict) and not {"reply_to_message", "quote", "external_reply"}.isdisjoint(
        message
    )
    return replies or "edited_message" in raw or "callback_query" in raw
