"""What the engine does with the archive: older messages leave, are found, changed and erased there."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import ParamSpec, Protocol

from keepsake.archive.parquet import NEEDS_EXTRA, ArchiveFile, available, pack, require
from keepsake.archive.place import Place
from keepsake.archive.searching import Shelf, search
from keepsake.clock import Clock, to_micros
from keepsake.errors import ArchiveDamaged, ArchiveError, ArchiveMissing, DatabaseError, SettingError
from keepsake.index.terms import analyse
from keepsake.jobs import Done, Lane
from keepsake.models import Job, Message
from keepsake.settings import Settings
from keepsake.store import archive as rows
from keepsake.store import jobs, keywords
from keepsake.store.archive import LEAVE, RETAIN, REWRITE, File, Held, Rules
from keepsake.store.database import Database

log = logging.getLogger(__name__)

P = ParamSpec("P")

_DAY = 86_400 * 1_000_000


class Ledger(Protocol):
    """What is asked of the ledger of erasures."""

    def installation(self) -> str: ...

    def held(self, user_id: int) -> str | None: ...


def check_settings(settings: Settings) -> None:
    """Raises SettingError where messages are to be archived and cannot be."""
    if settings.retention_days and settings.retention_action == "archive":
        if not available():
            raise SettingError(f"RETENTION_DAYS is set, and the archive {NEEDS_EXTRA}")
        Place.make(settings.archive_url, settings.data_dir, "")


class Archive:
    """The archive of one data folder. `looked_at`: there is a model that draws facts from messages, or will be.

    `dropped` is told of a person whose messages have left, to drop what RAM holds of them; `wake`: there are new jobs.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        ledger: Ledger,
        clock: Clock,
        *,
        looked_at: bool,
        dropped: Callable[[int], None],
        wake: Callable[[], None],
    ) -> None:
        self._database = database
        self._settings = settings
        self._ledger = ledger
        self._clock = clock
        self._looked_at = looked_at
        self._dropped = dropped
        self._wake = wake
        self._made: Place | None = None

    def lanes(self) -> dict[str, Lane]:
        """Who works on which jobs."""
        return {RETAIN: Lane(self.day), LEAVE: Lane(self.leave), REWRITE: Lane(self.rewrite)}

    def start(self, connection: sqlite3.Connection) -> None:
        """At the start, a transaction: what a kill left unfinished is to go, and the day's work is due."""
        rows.doom_unfinished(connection)
        if self._settings.retention_days or rows.names(connection):
            now = to_micros(self._clock())
            jobs.enqueue(connection, RETAIN, "all", now)
            for kind in (RETAIN, LEAVE, REWRITE):
                jobs.hurry(connection, kind, now)

    # Leaving

    async def day(self, _job: Job) -> Done:
        """The daily job: files that are to go are deleted, everybody's older messages leave. Raises ArchiveError."""
        try:
            if await self._database.read(rows.names):
                await self.delete_doomed()
                await self._find_renamed()
        except ArchiveError as error:
            if self._settings.retention_days and self._settings.retention_action == "archive":
                raise
            log.warning("%s", error)
        people: list[int] = []
        if self._settings.retention_days:
            people = await self._database.read(rows.people_with_older, self.rules().before)

        def commit(connection: sqlite3.Connection) -> None:
            now = to_micros(self._clock())
            for user_id in people:
                jobs.enqueue(connection, LEAVE, str(user_id), now, user_id=user_id)
            jobs.enqueue(connection, RETAIN, "all", now, run_after=now + _DAY)

        return Done(commit)

    async def leave(self, job: Job) -> Done:
        """The job by which a person's older messages leave, a file at a time. Raises ArchiveError: nothing is lost."""
        assert job.user_id is not None
        user_id, left = job.user_id, 0
        if self._settings.retention_action == "delete":
            reason = await asyncio.to_thread(self._ledger.held, user_id)
            if reason is not None:
                log.info("messages stay beyond their retention while a legal hold stands")
                return Done()
        while count := await self._leave_some(user_id):
            left += count
            self._dropped(user_id)
        if left and await self._database.read(_is_last, job.id):
            await keywords.forget_deleted(self._database)
        return Done()

    async def _leave_some(self, user_id: int) -> int:
        if not self._settings.retention_days:
            return 0
        if self._settings.retention_action == "delete":
            return await self._database.write(rows.delete, user_id, self.rules(), to_micros(self._clock()))
        batch = await self._database.read(rows.leaving, user_id, self.rules())
        if batch:
            require()
            move = partial(rows.move_out, batch=batch)
            await self._write(user_id, (await self._place()).new_name(), batch, move)
        return len(batch)

    async def _write(
        self,
        user_id: int,
        name: str,
        batch: Sequence[Held],
        record: Callable[..., bool],
    ) -> None:
        """Writes a file, reads it again, and then records it; what comes of it otherwise is deleted."""
        now, place = to_micros(self._clock()), await self._place()
        begun = await self._database.write(rows.begin_file, user_id, name, now)
        if begun is None:
            return
        file, key = begun
        try:
            await _to_its_end(_write_and_read, place, file, batch, key)
            recorded = await self._database.write(record, file=file, with_key=key, now=now)
        except Exception:  # not where it is cancelled: the erasure dooms the file then, or the next start
            await self._discard(file)
            raise
        if not recorded:
            await self._discard(file)

    async def _discard(self, file: File) -> None:
        with suppress(DatabaseError, ArchiveError):  # what cannot be deleted now is to go at the next start
            await self._database.write(rows.abandon, file.id)
            await self.delete_doomed()

    def rules(self) -> Rules:
        """Which messages leave now."""
        settings = self._settings
        kept = timedelta(days=settings.retention_days)
        return Rules(
            before=to_micros(self._clock() - kept),
            stays=max(settings.max_messages, settings.stm_size + settings.ltm_size),
            waits_for_facts=self._looked_at,
            summaries=settings.summaries_in_prompt,
        )

    # Changing

    async def find(self, user_id: int, key: str) -> int | None:
        """The id of the archived message that was saved with this key."""
        return await self._database.read(rows.by_key, user_id, key)

    async def remove(self, user_id: int, message_ids: Iterable[int]) -> int:
        """Has archived messages forgotten, with facts that came from them alone; how many.

        They are found no more at once; their files are written anew in the background, as soon as they can be reached.
        """
        wishes = dict.fromkeys(message_ids)
        changed = await self._database.write(rows.wish, user_id, wishes, to_micros(self._clock()))
        self._wake()
        return changed

    async def rewrite(self, job: Job) -> Done:
        """The job that writes a person's files anew, without what was forgotten. Raises ArchiveError."""
        assert job.user_id is not None
        user_id, key = job.user_id, await self._database.read(rows.key, job.user_id)
        files = {file.id: file for file in await self._database.read(rows.files, user_id)}
        place = await self._place()
        for file_id, texts in (await self._database.read(rows.wishes, user_id)).items():
            old = files[file_id]
            assert key is not None
            held = await asyncio.to_thread(_read_whole, place, old, key)
            batch = [_edited(one, texts[one.message.id]) if one.message.id in texts else one for one in held]
            name, taken = place.next_name(old.name), await self._database.read(rows.names)
            while name in taken:
                name = place.next_name(name)
            record = partial(rows.replace_file, old=old, done=texts)
            await self._write(user_id, name, [one for one in batch if one is not None], record)
        await self.delete_doomed()
        more = bool(await self._database.read(rows.wishes, user_id))

        def commit(connection: sqlite3.Connection) -> None:
            if more:  # it was wished while a file was being written
                jobs.enqueue(connection, REWRITE, str(user_id), to_micros(self._clock()), user_id=user_id)

        return Done(commit)

    async def delete_doomed(self) -> list[str]:
        """Deletes the files that are to go. Raises ArchiveError for the first that cannot be."""
        doomed = await self._database.read(rows.doomed)
        for file_id, name in doomed:
            await _to_its_end((await self._place()).delete, name)
            await self._database.write(rows.gone, file_id)
        return [name for _, name in doomed]

    async def _find_renamed(self) -> None:
        """After an older memory.db was put back: files that were written anew since take their places."""
        place = await self._place()
        names = await asyncio.to_thread(place.names)
        for file in await self._database.read(rows.files):
            newer = [name for name in names if place.takes_place_of(name, file.name)]
            if file.name not in names and newer:
                await self._take(place, file, newer[-1])

    async def _take(self, place: Place, file: File, name: str) -> None:
        key = await self._database.read(rows.key, file.user_id) or ""
        try:
            held = await asyncio.to_thread(_read_whole, place, file._replace(name=name), key)
        except ArchiveDamaged as error:
            log.warning("%s", error)
            return
        await self._database.write(rows.rename, file, name, [one.message.id for one in held])

    async def delete_strays(self) -> int:
        """Deletes files of this installation that memory.db does not know, as an older one that was put back; how many.

        Not by itself: who puts back the wrong backup may still put back the right one. Raises ArchiveError.
        """
        place = await self._place()
        names = await asyncio.to_thread(place.names)
        strays = set(names) - await self._database.read(rows.names)
        for name in strays:
            await _to_its_end(place.delete, name)
        return len(strays)

    # Finding

    async def search(self, user_id: int, query: str, limit: int) -> list[tuple[Message, float]]:
        """Archived messages that hold words of `query` with scores of 0–1, best first. Raises ArchiveError."""
        terms = list(dict.fromkeys(analyse(query)))
        url, folder = self._settings.archive_url, self._settings.data_dir
        place = await asyncio.to_thread(
            Place.make, url, folder, ""
        )  # reading needs no name of this installation
        for last in (False, True):
            shelf = await self._database.read(_shelf, user_id)
            if shelf is None or not terms:
                return []
            require()
            try:
                return await asyncio.to_thread(search, place, shelf, terms, limit)
            except ArchiveMissing:  # written anew, and deleted, since the list was read?
                if last:
                    raise
        raise AssertionError("the second try returns or raises")

    async def _place(self) -> Place:
        if self._made is None:
            installation = await asyncio.to_thread(self._ledger.installation)
            url, folder = self._settings.archive_url, self._settings.data_dir
            self._made = await asyncio.to_thread(Place.make, url, folder, installation)
        return self._made


def _write_and_read(place: Place, file: File, batch: Sequence[Held], key: str) -> None:
    place.write(file.name, pack(batch, key, file.name))
    if _read_whole(place, file, key) != list(batch):
        raise ArchiveDamaged(f"{file.name} in the archive does not hold what was written")


def _read_whole(place: Place, file: File, key: str) -> list[Held]:
    return ArchiveFile(place.read(file.name), key, file.name, file.user_id).everything()


def _edited(one: Held, text: str | None) -> Held | None:
    if text is None:
        return None
    return Held(replace(one.message, content=text), one.key, " ".join(analyse(text)))


def _shelf(connection: sqlite3.Connection, user_id: int) -> Shelf | None:
    key = rows.key(connection, user_id)
    files = rows.files(connection, user_id)
    if key is None or not files:
        return None
    return Shelf(files, key, {file.id: rows.ids_in(connection, file.id) for file in files})


def _is_last(connection: sqlite3.Connection, job_id: int) -> bool:
    """Is no other person's job of this kind to be done yet?"""
    row = connection.execute(
        "SELECT 1 FROM jobs WHERE kind = ? AND id <> ? LIMIT 1", (LEAVE, job_id)
    ).fetchone()
    return row is None


async def _to_its_end(work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Runs `work` on a thread. Cancelled, it still waits for its end: nobody may write a file that was erased."""
    task = asyncio.create_task(asyncio.to_thread(work, *args, **kwargs))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
