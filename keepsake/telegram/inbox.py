"""The durable inbox: an update stands in SQLite before Telegram is told that it has arrived."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from keepsake.clock import Clock, to_micros
from keepsake.errors import DatabaseError
from keepsake.store import in_flight, inbox, outbox
from keepsake.store.database import Database
from keepsake.store.inbox import Arrived, Undone
from keepsake.telegram.discretion import Discretion

log = logging.getLogger(__name__)

# Telegram keeps an update for a day; what is done longer ago than this cannot come again.
_KEPT = timedelta(days=7)
_TIDY_EVERY = 10_000  # updates

Json = dict[str, Any]


class Inbox:
    """Updates as Telegram sent them, from their arrival to their end.

    `discretion` says which of them stand in files of their own meanwhile, since nothing of them is to be kept.
    """

    def __init__(self, database: Database, clock: Clock, discretion: Discretion) -> None:
        self._database = database
        self._clock = clock
        self._discretion = discretion
        self._folder = database.path.parent
        self._filed: set[int] = set()
        self._taken = 0

    async def begin(self, bot_id: int) -> None:
        """Numbers count for one bot: where another one was here before, what it left is of no use."""
        await self._database.write(inbox.begin, str(bot_id))

    async def take(self, updates: Iterable[object]) -> list[Undone]:
        """Stores updates; when this returns they are durable. Returns those that had not come before."""
        arrived = [
            await self._without_contents(one, update)
            for update in updates
            if (one := _arrived(update)) is not None
        ]
        if not arrived:
            return []
        new = await self._database.write(inbox.put, arrived, self._now())
        await self._drop_what_came_twice(arrived, new)
        self._taken += len(new)
        if self._taken >= _TIDY_EVERY:
            await self._tidy()
        return new

    async def _without_contents(self, update: Arrived, raw: object) -> Arrived:
        """The update, after its contents went into a file where they are not to be kept. Raises DatabaseError."""
        if not isinstance(raw, dict) or not self._discretion.wanted(update.update_id, update.user_id, raw):
            return update
        try:
            await asyncio.to_thread(in_flight.put, self._folder, update.update_id, update.payload)
        except OSError as error:
            raise DatabaseError(f"{self._folder} cannot be written ({error}); make room") from error
        self._filed.add(update.update_id)
        return replace(update, payload=inbox.FILED)

    async def _drop_what_came_twice(self, arrived: Iterable[Arrived], new: Iterable[Undone]) -> None:
        numbers = {one.update_id for one in new}
        for update in arrived:
            if update.payload == inbox.FILED and update.update_id not in numbers:
                held = await self._database.read(inbox.payload, update.update_id)
                if held != inbox.FILED:  # it is done, or stands in memory.db
                    await self._drop_file(update.update_id)

    async def _drop_file(self, update_id: int) -> None:
        self._filed.discard(update_id)
        await asyncio.to_thread(in_flight.drop, self._folder, [update_id])

    async def undone(self) -> list[Undone]:
        """What a stop or a kill has left, oldest first."""
        await self._tidy()
        left = await self._database.read(inbox.undone)
        self._filed = {update.update_id for update in left if update.filed}
        await asyncio.to_thread(in_flight.drop_others, self._folder, self._filed)
        for update in left:
            raw = await self.read(update.update_id)
            if raw is not None:  # commands among them count for what comes next
                self._discretion.wanted(update.update_id, _arrived_from(raw), raw)
        return left

    async def _tidy(self) -> None:
        """Drops what is long done."""
        self._taken = 0
        before = self._now() - _KEPT // timedelta(microseconds=1)
        await self._database.write(inbox.drop_done_before, before)
        await self._database.write(outbox.drop_settled_before, before)

    async def read(self, update_id: int) -> Json | None:
        """The update; None where it is done already, or was erased."""
        payload = await self._database.read(inbox.payload, update_id)
        if payload == inbox.FILED:
            payload = await asyncio.to_thread(in_flight.read, self._folder, update_id)
            if payload is None:
                await self.finish(update_id)
        if payload is None:
            self._discretion.done(update_id)
            return None
        raw: Json = json.loads(payload)
        return raw

    async def finish(self, update_id: int) -> None:
        """It needs nothing more: its contents go."""
        await self._database.write(inbox.finish, update_id, self._now())
        self._discretion.done(update_id)
        if update_id in self._filed:
            await self._drop_file(update_id)

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


def _arrived_from(raw: Json) -> int | None:
    arrived = _arrived(raw)
    return arrived.user_id if arrived is not None else None


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
