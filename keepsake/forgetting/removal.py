"""Forgets single facts and messages, with a while to undo it; then nothing of them is left on the disk.

What was removed goes out of memory.db at once. Until it can no longer be undone it stands in RAM only, so a process
that ends early leaves nothing but free pages. Those the job `scrub` writes anew, when the while is over, at the end of
the process or at its next start, whichever comes first.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from keepsake.clock import to_micros
from keepsake.errors import KeepsakeError
from keepsake.forgetting import erase, removing
from keepsake.forgetting.ledger import Ledger
from keepsake.forgetting.removing import Removed
from keepsake.index.vector_storage import VectorMemoryStorage
from keepsake.jobs import Done
from keepsake.models import Fact, Job, Message
from keepsake.settings import Settings
from keepsake.store import embeddings, jobs, outbox, users
from keepsake.store import messages as message_rows
from keepsake.store.jobs import EMBED
from keepsake.store.storage import SQLiteMemoryStorage

log = logging.getLogger(__name__)

SCRUB = "scrub"
CANDIDATES_MAX = 5
_TOKEN_BYTES = 6
_CLOSING_PATIENCE_SECONDS = 2.0

Meant = Callable[[int, str], Awaitable[list[Fact]]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be meant by /forget WHAT, as it is shown."""

    kind: Literal["fact"]
    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went. `token` undoes it until `until`; it is empty where there was nothing to forget.

    `message_ids`: messages that the facts came from, newest first; they are kept, and may be forgotten as well.
    """

    token: str
    fact_ids: tuple[int, ...]
    message_ids: tuple[int, ...]
    until: datetime


@dataclass(frozen=True, slots=True)
class Replied:
    """A message that somebody points at: its key, and its number where it is one of the bot's own in that chat."""

    key: str
    chat_id: int
    number: int


class Archived(Protocol):
    """The port to the messages that have left for the archive."""

    async def find(self, user_id: int, key: str) -> int | None:
        """The id of the one that was saved with this key."""

    async def remove(self, user_id: int, message_ids: Iterable[int]) -> int:
        """Has them forgotten, with the facts that came from them alone; how many."""


@dataclass(slots=True)
class _Undo:
    user_id: int
    removed: Removed
    until: datetime


class Removal:
    """Over one data folder. `meant` finds facts by a few words; `drop` takes what RAM holds of a person's memory."""

    def __init__(
        self,
        settings: Settings,
        storage: SQLiteMemoryStorage,
        vectors: VectorMemoryStorage | None,
        chroma: erase.Collections | None,
        ledger: Ledger,
        archive: Archived,
        *,
        meant: Meant,
        drop: Callable[[int], None],
        wake: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._database = storage.database
        self._vectors = vectors
        self._chroma = chroma
        self._data_dir = settings.data_dir
        self._while = timedelta(seconds=settings.undo_seconds)
        self._ledger = ledger
        self._archive = archive
        self._meant = meant
        self._drop = drop
        self._wake = wake
        self._undo: dict[str, _Undo] = {}

    async def candidates(self, user_id: int, what: str) -> list[Candidate]:
        """What may be meant, best first, at most CANDIDATES_MAX."""
        found = await self._meant(user_id, what)
        return [Candidate("fact", fact.id, fact.content) for fact in found[:CANDIDATES_MAX]]

    async def replied(self, user_id: int, to: Replied) -> Message | None:
        """The message of the user's memory that is pointed at: theirs, or the answer that it shows."""
        return await self._database.read(_pointed_at, user_id, to)

    async def forget(
        self,
        user_id: int,
        fact_ids: Collection[int],
        message_ids: Collection[int] = (),
        *,
        joining: str | None = None,
    ) -> Forgotten:
        """Forgets facts and messages of the user's; others' ids are passed over.

        With a fact goes all that says the same, and it is not learned again; with a message the facts that came only
        from it. `joining`: the token of an earlier call, with which this one is undone. Raises ErasureHeld.
        """
        await asyncio.to_thread(erase.refuse_where_held, self._ledger, user_id)
        removed, offered = await self._database.write(self._forget, user_id, fact_ids, message_ids)
        until = self._storage.now() + self._while
        if not (removed.fact_ids or removed.message_ids):
            return Forgotten("", (), (), until)
        token = self._keep(user_id, removed, until, joining)
        self._drop(user_id)
        self._wake()
        return Forgotten(token, tuple(removed.fact_ids), tuple(offered), until)

    async def forget_archived(self, user_id: int, to: Replied) -> bool:
        """Forgets a message that has left for the archive; False where it is not there.

        It cannot be undone: its file is written anew without it. Raises ErasureHeld.
        """
        await asyncio.to_thread(erase.refuse_where_held, self._ledger, user_id)
        archived = await self._archive.find(user_id, to.key)
        if archived is None or not await self._archive.remove(user_id, [archived]):
            return False
        await self._database.write(self._plan_scrub, user_id, self._storage.now_micros())
        self._drop(user_id)
        self._wake()
        return True

    def _forget(
        self,
        connection: sqlite3.Connection,
        user_id: int,
        fact_ids: Collection[int],
        message_ids: Collection[int],
    ) -> tuple[Removed, list[int]]:
        now = self._storage.now_micros()
        removed = removing.remove(connection, user_id, fact_ids, message_ids, now)
        self._plan_scrub(connection, user_id, now + self._while // timedelta(microseconds=1))
        drawn_from = {row["message_id"] for row in removed.taken.of("fact_sources")}
        offered = message_rows.by_ids(connection, user_id, drawn_from - set(removed.message_ids))
        return removed, sorted(offered, reverse=True) if fact_ids else []

    def _keep(self, user_id: int, removed: Removed, until: datetime, joining: str | None) -> str:
        self._forget_late()
        earlier = self._undo.pop(joining, None) if joining is not None else None
        if earlier is not None and earlier.user_id == user_id and joining is not None:
            self._undo[joining] = _Undo(user_id, earlier.removed.joined(removed), until)
            return joining
        token = secrets.token_hex(_TOKEN_BYTES)
        self._undo[token] = _Undo(user_id, removed, until)
        return token

    async def undo(self, user_id: int, token: str) -> bool:
        """Brings back what `forget` took; False where it is too late, or another person's."""
        self._forget_late()
        kept = self._undo.get(token)
        if kept is None or kept.user_id != user_id:
            return False
        del self._undo[token]
        await self._database.write(self._put_back, user_id, kept.removed)
        self._drop(user_id)
        self._wake()
        return True

    def _put_back(self, connection: sqlite3.Connection, user_id: int, removed: Removed) -> None:
        now = self._storage.now_micros()
        active = removing.put_back(connection, user_id, removed, now)
        self._storage.queue_facts(connection, user_id, active)
        if self._vectors is not None and removed.message_ids:
            for message_id in removed.message_ids:
                embeddings.queue(connection, user_id, "message", message_id)
            jobs.enqueue(connection, EMBED, str(user_id), now, user_id=user_id)

    def drop(self, user_id: int) -> None:
        """Nothing that a person had forgotten can be brought back any more: they are being erased."""
        self._undo = {token: kept for token, kept in self._undo.items() if kept.user_id != user_id}

    def _forget_late(self) -> None:
        now = self._storage.now()
        self._undo = {token: kept for token, kept in self._undo.items() if now < kept.until}

    # The disk

    async def scrub(self, job: Job) -> Done:
        """The job that leaves nothing on the disk of what a user had forgotten.

        Raises KeepsakeError: it is tried again later.
        """
        assert job.user_id is not None
        user_id = job.user_id
        self._forget_late()
        await self._scrub([user_id])
        latest = max((kept.until for kept in self._undo.values() if kept.user_id == user_id), default=None)
        if latest is None:
            return Done()
        # The very words of what was asked for may have been under way meanwhile.
        return Done(lambda connection: self._plan_scrub(connection, user_id, to_micros(latest)))

    async def finish(self) -> None:
        """At an orderly end: what waits for its while to be over is done now. What fails is done at the next start."""
        self._undo.clear()
        try:
            waiting = await self._database.read(jobs.users_waiting, SCRUB)
            if waiting:
                await self._scrub(waiting, patience_seconds=_CLOSING_PATIENCE_SECONDS)
                await self._database.write(jobs.drop, SCRUB)
        except KeepsakeError as error:
            log.warning("what was forgotten is wiped at the next start: %s", error)

    async def _scrub(self, user_ids: Sequence[int], patience_seconds: float | None = None) -> None:
        for user_id in user_ids:
            await self._scrub_vectors(user_id)
        await self._database.write(erase.merge_keyword_index)
        await erase.rewrite(self._database)
        if patience_seconds is None:
            await erase.truncate_log(self._database)
        else:
            await erase.truncate_log(self._database, patience_seconds)

    async def _scrub_vectors(self, user_id: int) -> None:
        handle = await self._database.read(users.handle, user_id)

        async def erase_them() -> None:
            handles = (handle,) if handle is not None else ()
            now = self._storage.now()
            await erase.erase_vectors(self._database, self._chroma, self._data_dir, handles, now)

        if self._vectors is None:
            await erase_them()
        else:
            await self._vectors.fill_anew(user_id, erase_them)

    def _plan_scrub(self, connection: sqlite3.Connection, user_id: int, due: int) -> None:
        now = self._storage.now_micros()
        jobs.enqueue(connection, SCRUB, str(user_id), now, user_id=user_id, run_after=due)


def _pointed_at(connection: sqlite3.Connection, user_id: int, to: Replied) -> Message | None:
    said = message_rows.by_key(connection, user_id, to.key)
    if said is not None:
        return said
    shown = outbox.shown(connection, user_id, to.chat_id, to.number)
    return message_rows.by_ids(connection, user_id, [shown]).get(shown) if shown is not None else None
