"""Consolidation, the "dream" (requirements.md, F9): orient, gather, consolidate, prune, when the person is quiet.

A look an hour puts a job into the queue for each person whose time has come. The job asks the model window by window,
and changes the store in the one transaction that also takes it off the queue: killed before, it begins again; after, it
is gone. So nothing is done twice or by halves.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from keepsake.clock import from_micros
from keepsake.errors import ContextTooLong, ModelAnswerInvalid
from keepsake.facts import consolidation
from keepsake.facts.consolidation import CONSOLIDATION_SCHEMA, FORM_NAME, LEAST_TOKENS, read_answer
from keepsake.facts.extract import WEAK_CONFIDENCE, ground_facts
from keepsake.facts.keeper import FactKeeper
from keepsake.facts.tidying import Asked, Changes, tidy
from keepsake.facts.topics import topics_of
from keepsake.facts.window import fit_window
from keepsake.index.terms import analyse, content_words
from keepsake.jobs import Done
from keepsake.llm.client import Turn
from keepsake.models import Fact, Job, Message, TopicNote
from keepsake.prompt import tokens
from keepsake.prompt.compaction import Asker
from keepsake.prompt.learned import LearnedModels
from keepsake.settings import Settings
from keepsake.store import dreams, jobs, messages, users
from keepsake.store import facts as fact_rows
from keepsake.store import topics as topic_rows
from keepsake.store.dreams import DreamState
from keepsake.store.jobs import DREAM, DREAM_CHECK
from keepsake.store.storage import SQLiteMemoryStorage

log = logging.getLogger(__name__)

CHECK_SECONDS = 3600  # from one look to the next
_MARGIN_SECONDS = 120  # for what stands around the asking: a lock that is older is a dead job's
_POLL_SECONDS = 0.5
_READ_AT_ONCE = 200  # messages; a window has fewer

Stopped = Literal["calls", "time", "room", "answer"]
NotYet = Literal["talking", "early", "few_sessions"]


@dataclass(slots=True)
class _Gathered:
    """What was asked and answered, up to the message `read_to`; why it went no further, None at the end."""

    read_to: int
    asked: list[Asked] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    read: int = 0
    calls: int = 0
    model: str | None = None
    stopped: Stopped | None = None


@dataclass(frozen=True, slots=True)
class _Orientation:
    """What is known when it begins."""

    state: DreamState
    facts: Sequence[Fact]
    notes: dict[str, TopicNote]


class Dreamer:
    """The jobs of consolidation.

    `model` None: what needs none is done; with `model_comes_later` the date does not move then.
    """

    def __init__(
        self,
        settings: Settings,
        storage: SQLiteMemoryStorage,
        keeper: FactKeeper,
        models: LearnedModels,
        model: Asker | None,
        *,
        model_comes_later: bool = False,
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._keeper = keeper
        self._models = models
        self._model = model
        self._model_comes_later = model_comes_later

    async def check(self, _job: Job) -> Done:
        """The hourly job: whoever's time has come is consolidated."""

        due = await self._storage.database.read(self._due)

        def commit(connection: sqlite3.Connection) -> None:
            now = self._storage.now_micros()
            for user_id in due:
                jobs.enqueue(connection, DREAM, str(user_id), now, user_id=user_id)
            look_at(connection, now, now + CHECK_SECONDS * 1_000_000)

        return Done(commit)

    async def work(self, job: Job) -> Done:
        """The job of one person. Payload: `force`, before its time as well; `dry_run`, changing nothing.

        Raises ModelError; the date has not moved then.
        """
        assert job.user_id is not None
        user_id, dry = job.user_id, bool(job.payload.get("dry_run"))
        head: dict[str, Any] = {"user_id": user_id, "dry_run": dry}
        if not dry:
            await self._wait_for_lock(job)
        # Where this fails the lock need not be let go of: it counts only while its job is at work.
        let_go = partial(dreams.release, user_id=user_id, job_id=job.id)
        found = await self._storage.database.read(_orientation, user_id)
        wait = None if job.payload.get("force") else self._not_yet(found.state, self._storage.now_micros())
        if wait is not None:
            return Done(let_go, {**head, "not_yet": wait})
        gathered = await self._gather(user_id, found)
        if dry:
            report = await self._storage.database.write(self._undone, job, found, gathered)
            return Done(result={**head, **report})
        result = head

        def commit(connection: sqlite3.Connection) -> None:
            result.update(self._finish(connection, job, found, gathered))

        return Done(commit, result)

    def _due(self, connection: sqlite3.Connection) -> list[int]:
        now = self._storage.now_micros()
        return [
            one
            for one in users.all_ids(connection)
            if self._not_yet(dreams.state(connection, one), now) is None
        ]

    async def _wait_for_lock(self, job: Job) -> None:
        while True:
            if await self._storage.database.write(self._take, job):
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _take(self, connection: sqlite3.Connection, job: Job) -> bool:
        assert job.user_id is not None
        now = self._storage.now_micros()
        if users.handle(connection, job.user_id) is None:
            return True  # nobody; what follows finds nothing
        until = now + int(self._settings.dream_minutes * 60 + _MARGIN_SECONDS) * 1_000_000
        return dreams.take(connection, job.user_id, job.id, now=now, until=until)

    def _not_yet(self, state: DreamState, now: int) -> NotYet | None:
        """Why it is not time, None where it is. A date that lies ahead is a clock's that has jumped back."""
        quiet = self._settings.dream_quiet_minutes * 60_000_000
        pause = self._settings.dream_hours * 3600_000_000
        if state.last_at is None or state.since is None or state.sessions < self._settings.dream_sessions:
            return "few_sessions"
        if 0 <= now - state.since < pause:
            return "early"
        return "talking" if 0 <= now - state.last_at < quiet else None

    async def _gather(self, user_id: int, found: _Orientation) -> _Gathered:
        """Asks the model about all messages since the last time, as far as calls and time allow. Raises ModelError."""
        gathered = _Gathered(found.state.read_to)
        if self._model is None:
            newest = await self._storage.database.read(messages.last, user_id, 1)
            # Where a model comes later it has still to read them.
            if newest and not self._model_comes_later:
                gathered.read_to = newest[-1].id
            return gathered
        most = (await self._models.least(self._model.names)).tokens
        try:
            async with asyncio.timeout(self._settings.dream_minutes * 60):
                await self._ask_all(self._model, user_id, found, gathered, most)
        except TimeoutError:
            gathered.stopped = "time"
        except ContextTooLong as error:
            await self._models.too_long(error, most)
            raise
        except ModelAnswerInvalid as error:
            log.warning("consolidation: %s; it is tried again later", error)
            gathered.stopped = "answer"
        return gathered

    async def _ask_all(
        self, model: Asker, user_id: int, found: _Orientation, gathered: _Gathered, most: int
    ) -> None:
        count = tokens.estimate
        room = consolidation.form().room(most, count)
        if room < LEAST_TOKENS:
            gathered.stopped = "room"
            return
        topics = topics_of(found.facts, found.notes, content_words)
        slugs = {one: topic.slug for topic in topics for one in topic.fact_ids}
        for_facts = consolidation.facts_room(found.facts, room)
        shown = consolidation.facts_shown(found.facts, slugs, tokens=for_facts, count=count)
        room -= count(shown)
        while True:
            unread = await self._storage.database.read(
                messages.after, user_id, gathered.read_to, _READ_AT_ONCE
            )
            if not unread and (gathered.calls or not found.facts):
                return
            if gathered.calls >= self._settings.dream_calls:
                gathered.stopped = "calls"
                return
            window = fit_window(
                unread, cursor=gathered.read_to, most=len(unread) or 1, tokens=room, count=count
            )
            turns = await asyncio.to_thread(
                consolidation.request_turns,
                shown,
                window,
                now=self._storage.now(),
                tokens=room,
                count=count,
            )
            await self._ask(model, user_id, turns, window, gathered)
            if not window:
                return
            gathered.read_to = window[-1].id
            gathered.read += len(window)

    async def _ask(
        self,
        model: Asker,
        user_id: int,
        turns: Sequence[Turn],
        window: Sequence[Message],
        gathered: _Gathered,
    ) -> None:
        gathered.calls += 1
        formed = await model.formed(turns, CONSOLIDATION_SCHEMA, name=FORM_NAME, parse=read_answer)
        gathered.model = formed.model
        fixed = {"confidence": WEAK_CONFIDENCE} if getattr(model, "weak", False) else {}
        ground = partial(
            ground_facts,
            formed.value.new,
            window,
            terms=analyse,
            origin="consolidated",
            model=formed.model,
            prompt_version=consolidation.form().prompt.version,
            **fixed,
        )
        extraction = await asyncio.to_thread(ground)
        gathered.refused.update({str(why): number for why, number in extraction.refused.items()})
        proposals = await self._keeper.proposals(user_id, extraction.drafts, window)
        gathered.asked.append(Asked(window, formed.value, proposals))

    def _finish(
        self, connection: sqlite3.Connection, job: Job, found: _Orientation, gathered: _Gathered
    ) -> dict[str, Any]:
        """Changes the store, moves the date where all went well, lets go of the lock: a transaction."""
        assert job.user_id is not None
        user_id = job.user_id
        if not dreams.holds(connection, user_id, job.id):
            return {"not_yet": "taken"}
        changes = self._tidied(connection, user_id, found, gathered)
        dreams.note_read(connection, user_id, gathered.read_to)
        if gathered.stopped != "answer" and not self._model_comes_later:
            counts = {**changes.counts(), "messages": gathered.read, "calls": gathered.calls}
            dreams.note_end(connection, user_id, counts, self._storage.now_micros())
        dreams.release(connection, user_id, job.id)
        if changes.refused:
            log.info("consolidation: refused %s", changes.refused)
        return self._report(connection, user_id, changes, gathered)

    def _undone(
        self, connection: sqlite3.Connection, job: Job, found: _Orientation, gathered: _Gathered
    ) -> dict[str, Any]:
        """The report of what would be changed; nothing is."""
        assert job.user_id is not None
        connection.execute("SAVEPOINT dry_run")
        try:
            changes = self._tidied(connection, job.user_id, found, gathered)
        finally:
            connection.execute("ROLLBACK TO dry_run")
            connection.execute("RELEASE dry_run")
        return self._report(connection, job.user_id, changes, gathered)

    def _tidied(
        self, connection: sqlite3.Connection, user_id: int, found: _Orientation, gathered: _Gathered
    ) -> Changes:
        return tidy(
            connection,
            user_id,
            gathered.asked,
            {fact.id: fact for fact in found.facts},
            self._settings,
            now=self._storage.now(),
            gate=self._keeper.gate,
            refused=gathered.refused,
            queue=self._storage.queue_facts,
        )

    def _report(
        self, connection: sqlite3.Connection, user_id: int, changes: Changes, gathered: _Gathered
    ) -> dict[str, Any]:
        left = messages.count_user_after(connection, user_id, gathered.read_to)
        return {
            "at": self._storage.now().isoformat(),
            "model": gathered.model,
            "calls": gathered.calls,
            "messages": gathered.read,
            "messages_left": left,
            "stopped": gathered.stopped,
            **changes.as_dict(),
        }


def look_at(connection: sqlite3.Connection, now: int, moment: int) -> None:
    """Has it looked at `moment` who is to be consolidated (microseconds); the one look there is waits until then."""
    jobs.put_off(connection, DREAM_CHECK, "all", now, user_id=None, run_after=moment)


def last_report(connection: sqlite3.Connection, user_id: int) -> dict[str, Any] | None:
    """When a person's facts were last consolidated, and how much that changed."""
    held = dreams.last(connection, user_id)
    return {"at": from_micros(held[0]).isoformat(), **held[1]} if held is not None else None


def _orientation(connection: sqlite3.Connection, user_id: int) -> _Orientation:
    return _Orientation(
        dreams.state(connection, user_id),
        fact_rows.of_user(connection, user_id),
        topic_rows.of_user(connection, user_id),
    )
