"""The one place that works on the durable queue: it claims due jobs and runs each as a tracked task."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from keepsake.clock import Clock, to_micros
from keepsake.errors import DatabaseError, KeepsakeError, ModelUnavailable
from keepsake.models import Job
from keepsake.store import jobs
from keepsake.store.database import Database

log = logging.getLogger(__name__)

TROUBLE_SECONDS = 2.0  # until memory.db is tried again, after it could not be used
POLL_SECONDS = 0.5  # how soon a job that another process put into the database is seen
_FIRST_RETRY_SECONDS = 5.0
_LAST_RETRY_SECONDS = 600.0
_REPLY = "reply"  # in a payload: somebody waits for the result, and for the error
_KEEP = "keep"  # somebody asks for the result later: it is tried until it is done
_RESULTS_KEPT_SECONDS = 7 * 86_400

Commit = Callable[[sqlite3.Connection], object]


@dataclass(frozen=True, slots=True)
class Done:
    """What a job's handler ends with.

    `commit` is run in the transaction that also takes the job off the queue: both happen, or neither.
    `result` is kept for whoever waits for it.
    """

    commit: Commit | None = None
    result: dict[str, object] = field(default_factory=dict)


Handler = Callable[[Job], Awaitable[Done]]


class JobGone(KeepsakeError):
    """The job was erased while it ran: its work is void and must not be written."""


@dataclass(frozen=True, slots=True)
class Lane:
    """How jobs of one kind are worked on: by whom, and how many at once."""

    handler: Handler
    at_once: int = 1


class JobRunner:
    """Runs the jobs of the kinds it has lanes for; others stay in the queue, untouched."""

    def __init__(self, database: Database, lanes: Mapping[str, Lane], clock: Clock) -> None:
        self._database = database
        self._lanes = dict(lanes)
        self._clock = clock
        self._wake = asyncio.Event()
        self._hurried: set[str] = set()
        self._idle = asyncio.Condition()
        self._running: dict[asyncio.Task[None], Job] = {}
        self._dispatcher: asyncio.Task[None] | None = None
        self._stopping = False
        self._trouble: DatabaseError | None = None

    async def start(self) -> None:
        await self._database.write(jobs.requeue_running, self._now())
        unclaimed = self._now() - _RESULTS_KEPT_SECONDS * 1_000_000
        await self._database.write(jobs.drop_results_before, unclaimed)
        self._dispatcher = asyncio.create_task(self._dispatch(), name="jobs")

    def wake(self) -> None:
        """There is new work."""
        self._wake.set()

    def hurry(self, kind: str) -> None:
        """What jobs of this kind were put off for may work again."""
        self._hurried.add(kind)
        self.wake()

    async def flush(self) -> None:
        """Waits until nothing that is due is left, with what it leads to. Postponed jobs are not waited for.

        Raises DatabaseError where memory.db cannot be used: the work waits until it can be.
        """
        while self._running or self._hurried or await self._has_due_work():
            if self._trouble is not None:
                raise self._trouble
            self.wake()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS), self._idle:
                    await self._idle.wait()

    async def _has_due_work(self) -> bool:
        return await self._database.read(jobs.pending, list(self._lanes), self._now())

    async def quiesce(self, user_id: int) -> None:
        """Stops the user's running jobs, but for the calling one."""
        caller = asyncio.current_task()
        tasks = [task for task, job in self._running.items() if job.user_id == user_id and task is not caller]
        await _cancel(tasks)

    async def stop(self) -> None:
        """Cancels what runs: it waits in the queue for the next start."""
        self._stopping = True
        if self._dispatcher is not None:
            await _cancel([self._dispatcher])
        await _cancel(list(self._running))

    async def _dispatch(self) -> None:
        while not self._stopping:
            self._wake.clear()
            await self._insist(self._claim_due)
            # Not wait_for: in Python 3.11 it may swallow the cancellation that `stop` waits for.
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._wake.wait()

    async def _claim_due(self) -> None:
        for kind in tuple(self._hurried):
            await self._database.write(jobs.hurry, kind, self._now())
            self._hurried.discard(kind)
        free = [kind for kind, lane in self._lanes.items() if self._busy(kind) < lane.at_once]
        for kind in await self._database.read(jobs.due_kinds, free, self._now()):
            lane = self._lanes[kind]
            while self._busy(kind) < lane.at_once and await self._claim(kind, lane):
                pass

    async def _insist(self, step: Callable[[], Awaitable[None]]) -> None:
        """Does a step, again and again while memory.db cannot be used: a full disk must not end all work."""
        while True:
            try:
                await step()
            except DatabaseError as error:
                log.error("background work waits: %s", error)
                self._trouble = error
                await asyncio.sleep(TROUBLE_SECONDS)
            else:
                self._trouble = None
                return

    def _busy(self, kind: str) -> int:
        return sum(job.kind == kind for job in self._running.values())

    async def _claim(self, kind: str, lane: Lane) -> bool:
        job = await self._database.write(jobs.claim, kind, self._now())
        if job is None:
            return False
        task = asyncio.create_task(self._run(job, lane.handler), name=f"job {kind} {job.id}")
        self._running[task] = job
        task.add_done_callback(self._ended)
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self.wake()

    async def _run(self, job: Job, handler: Handler) -> None:
        try:
            done = await handler(job)
            await self._database.write(self._finish, job, done)
        except JobGone:
            log.info("job %s %d was erased while it ran", job.kind, job.id)
        except KeepsakeError as error:
            wait = error.retry_after if isinstance(error, ModelUnavailable) else None
            await self._insist(partial(self._failed, job, str(error), wait or 0.0))
        except Exception as error:  # the outer edge: whatever a job does, the queue goes on
            log.exception("job %s %d failed", job.kind, job.id)
            await self._insist(partial(self._failed, job, type(error).__name__))
        finally:
            async with self._idle:
                self._idle.notify_all()

    def _finish(self, connection: sqlite3.Connection, job: Job, done: Done) -> None:
        if jobs.result(connection, job.id) is None:
            raise JobGone(f"job {job.id} is gone")
        if done.commit is not None:
            done.commit(connection)
        if job.payload.get(_REPLY) or job.payload.get(_KEEP):
            jobs.finish_with(connection, job.id, "done", done.result)
        else:
            jobs.finish(connection, job.id)

    async def _failed(self, job: Job, reason: str, wait_seconds: float = 0.0) -> None:
        if job.payload.get(_REPLY):
            await self._database.write(jobs.finish_with, job.id, "failed", {"error": reason})
            return
        delay = max(min(_FIRST_RETRY_SECONDS * 2 ** (job.attempts - 1), _LAST_RETRY_SECONDS), wait_seconds)
        log.warning("job %s %d waits %.0f s: %s", job.kind, job.id, delay, reason)
        await self._database.write(jobs.postpone, job.id, self._now() + int(delay * 1_000_000))

    def _now(self) -> int:
        return to_micros(self._clock())


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
