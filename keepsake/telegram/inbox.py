"""The durable inbox: an update stands in SQLite before Telegram is told that it has arrived."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from keepsake.clock import Clock, to_micros
from keepsake.store import inbox, outbox
from keepsake.store.database import Database
from keepsake.store.inbox import Arrived, Undone

log = logging.getLogger(__name__)

# Telegram keeps an update for a day; what is done longer ago than this cannot come again.
_KEPT = timedelta(days=7)
_TIDY_EVERY = 10_000  # updates

Json = dict[str, Any]


class Inbox:
    """Updates as Telegram sent them, from their arrival to their end."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._taken = 0

    async def begin(self, bot_id: int) -> None:
        """Numbers count for one bot: where another one was here before, what it left is of no use."""
        await self._database.write(inbox.begin, str(bot_id))

    async def take(self, updates: Iterable[object]) -> list[Undone]:
        """Stores updates; when this returns they are durable. Returns those that had not come before."""
        arrived = [one for update in updates if (one := _arrived(update)) is not None]
        if not arrived:
            return []
        new = await self._database.write(inbox.put, arrived, self._now())
        self._taken += len(new)
        if self._taken >= _TIDY_EVERY:
            await self._tidy()
        return new

    async def undone(self) -> list[Undone]:
        """What a stop or a kill has left, oldest first."""
        await self._tidy()
        return await self._database.read(inbox.undone)

    async def _tidy(self) -> None:
        """Drops what is long done."""
        self._taken = 0
        before = self._now() - _KEPT // timedelta(microseconds=1)
        await self._database.write(inbox.drop_done_before, before)
        await self._database.write(outbox.drop_settled_before, before)

    async def read(self, update_id: int) -> Json | None:
        """The update; None where it is done already, or was erased."""
        payload = await self._database.read(inbox.payload, update_id)
        return None if payload is None else json.loads(payload)

    async def finish(self, update_id: int) -> None:
        """It needs nothing more: its contents go."""
        await self._database.write(inbox.finish, update_id, self._now())

    def _now(self) -> int:
        return to_micros(self._clock())


def _arrived(update: object) -> Arrived | None:
    """What has to be known of an update before it is parsed; it may be of any shape."""
    update_id = number_of(update)
    if update_id is None or not isinstance(update, dict):
        log.error("Telegram sent an update without a number; it is passed over")
        return None
    body = next((value for name, value in update.items() if name != "update_id"), None)
    said = body if isinstance(body, dict) else {}
    message = said["message"] if isinstance(said.get("message"), dict) else said
    return Arrived(
        update_id,
        chat_id=_id(message.get("chat")),
        thread_id=_number(message.get("message_thread_id")) if message.get("is_topic_message") else None,
        user_id=_id(said.get("from")),
        payload=json.dumps(update),  # in ASCII: a lone surrogate can stand in JSON, not in SQLite
    )


def number_of(update: object) -> int | None:
    """An update's number; None where it has none that can be."""
    return _number(update.get("update_id")) if isinstance(update, dict) else None


def _id(value: object) -> int | None:
    return _number(value.get("id")) if isinstance(value, dict) else None


def _number(value: object) -> int | None:
    """A whole number that fits into SQLite."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    return None
