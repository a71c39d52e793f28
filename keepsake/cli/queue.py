"""How a command gets something changed: as a job, done by the running bot or, where none runs, by itself."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from keepsake.cli.out import remark
from keepsake.clock import system_clock, to_micros
from keepsake.errors import DatabaseError, FolderHeld, KeepsakeError
from keepsake.lock import FolderLock, holder
from keepsake.manager import HybridMemoryManager
from keepsake.settings import Settings
from keepsake.store import jobs, migrate
from keepsake.store.database import plain_failures, transact

P = ParamSpec("P")
T = TypeVar("T")

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0  # a bot looks for new jobs twice a second, and ends the job it is at first
_TAKE_OVER_SECONDS = 2.0
_BUSY_TIMEOUT_MS = 60_000  # a bot that writes memory.db anew keeps it for as long as that takes


class JobFailedError(KeepsakeError):
    """The job ended with an error, whose line this carries."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done: a job's kind, whom it is about (None: everybody), and what else its handler needs."""

    kind: str
    user_id: int | None = None
    more: dict[str, object] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return "all" if self.user_id is None else str(self.user_id)


class Worker:
    """This process as the one that does the jobs, as long as no other program holds the folder."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._manager: HybridMemoryManager | None = None

    @property
    def data_dir(self) -> Path:
        return self._settings.data_dir

    @property
    def works(self) -> bool:
        return self._manager is not None

    async def take_over(self) -> bool:
        """Opens the engine, which does what is queued. False where another program has the folder."""
        if self._manager is not None:
            return True
        lock = FolderLock(self._settings.data_dir)
        try:
            await asyncio.to_thread(lock.acquire)
        except FolderHeld:
            return False
        manager = HybridMemoryManager(self._settings, lock=lock, serving=False)
        await manager.engine()
        self._manager = manager
        return True

    async def __aenter__(self) -> Self:
        await self.take_over()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._manager is not None:
            await self._manager.close()
            self._manager = None


class JobQueue:
    """The queue as another process reaches it: a plain connection, opened on a thread for each step."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs `work` as one transaction. Raises DatabaseError."""
        return await self._run(lambda connection: transact(connection, work, *args, **kwargs))

    async def read(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs `work` without keeping anybody from writing. Raises DatabaseError."""
        return await self._run(lambda connection: work(connection, *args, **kwargs))

    async def _run(self, step: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            with plain_failures(self._path), closing(_connect(self._path)) as connection:
                return step(connection)

        try:
            return await asyncio.to_thread(run)
        except sqlite3.DatabaseError as error:
            raise DatabaseError(f"{self._path} cannot be used ({error})") from error


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        migrate.check_ours(connection, path)
        migrate.check_current(connection, path)
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


async def fulfil(
    worker: Worker, queue: JobQueue, wish: Wish, *, patience: float = _PATIENCE_SECONDS
) -> dict[str, object]:
    """Has a wish fulfilled, by this process or by the one that holds the folder, and returns the result.

    Raises JobFailedError where the job ended with an error, FolderHeld where a program holds the folder that
    does no jobs and has not begun after `patience` seconds. Interrupted, it leaves the job queued and says so.
    """
    try:
        job_id = await _enqueue(worker, queue, wish, patience)
        return await _result(worker, queue, job_id, patience)
    except asyncio.CancelledError:
        when = "when the bot next starts" if worker.works else "by the running bot"
        remark(f"not waiting any more; the work stays queued and is done {when}")
        raise


async def _enqueue(worker: Worker, queue: JobQueue, wish: Wish, patience: float) -> int:
    async for _ in rounds(worker, patience):
        job_id = await queue.write(
            jobs.enqueue,
            wish.kind,
            wish.key,
            to_micros(system_clock()),
            user_id=wish.user_id,
            payload={"reply": True, **wish.more},
        )
        if job_id is not None:
            return job_id  # else the same work waits already, without somebody to tell
    raise _nobody_works(worker)


async def _result(worker: Worker, queue: JobQueue, job_id: int, patience: float) -> dict[str, object]:
    async for waited in rounds(worker, patience):
        found = await queue.read(jobs.result, job_id)
        if found is None:
            raise JobFailedError("the work was called off: what it was about is gone")
        state, result = found
        if state in ("done", "failed"):
            await queue.write(jobs.finish, job_id)
            if state == "failed":
                raise JobFailedError(str(result.get("error", "the work failed")))
            return result
        waited.begun = state == "running"
    await queue.write(_take_back, job_id)
    raise _nobody_works(worker)


@dataclass(slots=True)
class _Waited:
    begun: bool = False


async def rounds(worker: Worker, patience: float = math.inf) -> AsyncIterator[_Waited]:
    """Rounds of waiting: without end where the work has begun or is done here, else for `patience` seconds.

    Where the holder of the folder has gone meanwhile, this process takes over what it left.
    """
    waited = _Waited()
    deadline = time.monotonic() + patience
    next_try = time.monotonic() + _TAKE_OVER_SECONDS
    while waited.begun or worker.works or time.monotonic() < deadline:
        yield waited
        await asyncio.sleep(_POLL_SECONDS)
        if not worker.works and time.monotonic() >= next_try:
            await worker.take_over()
            next_try = time.monotonic() + _TAKE_OVER_SECONDS


def _take_back(connection: sqlite3.Connection, job_id: int) -> None:
    connection.execute("DELETE FROM jobs WHERE id = ? AND state = 'waiting'", (job_id,))


def _nobody_works(worker: Worker) -> FolderHeld:
    pid = holder(worker.data_dir)
    who = f" (process {pid})" if pid else ""
    return FolderHeld(f"{worker.data_dir} is held by a program{who} that does not do what is queued; stop it")
