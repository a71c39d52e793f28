"""The vector index of large users: ChromaDB in a child process, one collection a user, ids and vectors only.

Why a child: a damaged folder can crash or hang the process that opens it; memory and open files are bounded
and given back; the path of an answer never pays for importing it. Everything in it is derived: it may be lost
at any time, and the caller is told so by `CollectionLost` (one user) or by another `identity` and
`generation` (all).
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from keepsake.errors import CollectionLost, VectorIndexError
from keepsake.index.chroma_folder import DATABASE_FILE, erase_deleted, make_empty, read_identity
from keepsake.index.chroma_process import START_SECONDS, ChildDied, ChromaProcess, OpenFailed
from keepsake.index.thread import BACKGROUND, URGENT, OwnThread

log = logging.getLogger(__name__)
T = TypeVar("T")

ROWS_PER_CALL = 500  # of an upsert, so that a query waits for about a quarter of a second at most
FAILURES_TO_PAUSE = 3
PAUSE_SECONDS = 300.0
DEATHS_TO_DROP = 2  # a collection on which the child died so often in a row is given up
LOCK_SECONDS = 20.0


class ChromaIndex:
    """Async client of the child, which starts with the first call and stops after `idle_seconds` without one.

    All calls run one by one on a thread of its own, queries before the rest; it works across event loops, and
    can be used again after `close`. Every failure is a VectorIndexError, after which the next call starts
    afresh. `generation` goes up whenever all content was lost: compare it after each write.
    """

    def __init__(
        self,
        vector_dir: Path,
        *,
        idle_seconds: float = 300,
        call_timeout: float = 30,
        start_timeout: float = START_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.generation = 0
        self._dir = vector_dir.absolute()
        self._call_timeout = call_timeout
        self._start_timeout = start_timeout
        self._monotonic = monotonic
        self._child: ChromaProcess | None = None
        self._open_failures = 0
        self._paused_until = 0.0
        self._deaths: dict[str, int] = {}
        self._thread = OwnThread("chroma", idle_seconds=idle_seconds, on_idle=self._stop_child)

    @property
    def child_pid(self) -> int | None:
        """The process id of the running child, for `stats` and tests."""
        return self._child.pid if self._child is not None else None

    async def upsert(self, handle: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Puts vectors (n, dimension) in, in place of those under these ids; makes the collection."""
        if len(ids) != len(vectors) or len(set(ids)) != len(ids):
            raise ValueError("each vector needs one id, and each id can be there once")
        for start in range(0, len(ids), ROWS_PER_CALL):
            part = slice(start, start + ROWS_PER_CALL)
            rows = np.ascontiguousarray(vectors[part], dtype=np.float32)
            await self._run(partial(self._call, "upsert", handle, list(ids[part]), rows), BACKGROUND)

    async def query(self, handle: str, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """Up to k ids with their cosines, best first. CollectionLost where there is no such collection."""
        wanted = np.ascontiguousarray(vector, dtype=np.float32)
        found: list[tuple[str, float]] = await self._run(
            partial(self._call, "query", handle, wanted, k), URGENT
        )
        return found

    async def count(self, handle: str) -> int:
        """Vectors in a collection. CollectionLost where there is none."""
        return int(await self._run(partial(self._call, "count", handle), BACKGROUND))

    async def collections(self) -> dict[str, int]:
        """Every collection's handle and number of vectors."""
        counts: dict[str, int] = await self._run(partial(self._call, "collections", None), BACKGROUND)
        return counts

    async def delete_ids(self, handle: str, ids: Sequence[str]) -> None:
        """Takes vectors out of search. Their bytes stay until `delete_collection`."""
        await self._run(partial(self._call, "delete_ids", handle, list(ids)), BACKGROUND)

    async def delete_collection(self, handle: str) -> None:
        """Erases a collection so that no byte of it is left; where that fails the whole folder is emptied."""
        await self._run(partial(self._erase, handle), BACKGROUND)

    async def wipe(self) -> None:
        """Removes the folder with all content; the next use starts empty."""
        await self._run(self._wipe, URGENT)

    async def identity(self) -> str:
        """A random name of the content, another one after every loss of it. Does not start the child."""
        return await self._run(self._identity, URGENT)

    async def close(self) -> None:
        """Stops the child and the thread, after the work that waits. Idempotent."""
        await self._run(self._stop_child, BACKGROUND)
        await asyncio.wrap_future(self._thread.stop())

    async def _run(self, call: Callable[[], T], priority: int) -> T:
        return await asyncio.wrap_future(self._thread.submit(call, priority))

    # All below runs on the thread.

    def _call(self, method: str, handle: str | None, *arguments: object) -> Any:
        child = self._running_child()
        try:
            status, result = child.call(method, *([] if handle is None else [handle]), *arguments)
        except ChildDied as error:
            self._child = None
            log.warning("vector index: %s in %s; it starts again when it is needed", error, method)
            raise self._after_death(handle, error) from error
        if status == "ok":
            self._deaths.clear()
            return result
        if handle is None:
            raise VectorIndexError(f"the vector index cannot do {method} ({result})")
        if status == "error":
            log.warning("vector index: %s failed (%s); that collection is made anew", method, result)
            self._drop(handle)
        raise CollectionLost(handle)

    def _after_death(self, handle: str | None, error: ChildDied) -> VectorIndexError:
        name = handle or ""
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] < DEATHS_TO_DROP:
            return VectorIndexError(f"{error}; it starts again by itself")
        self._deaths.clear()
        if handle is None:
            self._wipe()
            return VectorIndexError("the vector index was damaged; it is made anew in the background")
        self._drop(handle)
        return CollectionLost(handle)

    def _drop(self, handle: str) -> None:
        """Removes a collection that cannot be used, with the whole folder where that fails too."""
        try:
            status, _ = self._running_child().call("delete_collection", handle)
        except (ChildDied, VectorIndexError):
            self._child = None
            status = "error"
        if status == "error":
            self._wipe()

    def _erase(self, handle: str) -> None:
        if not (self._dir / DATABASE_FILE).exists():
            if self._dir.exists() and any(path.is_dir() for path in self._dir.iterdir()):
                self._wipe()  # segments without a database: nobody knows whose they are
            return
        generation = self.generation
        self._drop(handle)
        self._stop_child()
        if self.generation != generation:
            return
        try:
            erase_deleted(self._dir, LOCK_SECONDS)
        except (sqlite3.Error, OSError) as error:
            log.warning("vector index: %s; the folder is emptied", error)
            self._wipe()

    def _running_child(self) -> ChromaProcess:
        if self._monotonic() < self._paused_until:
            raise VectorIndexError("the vector index failed several times; it is tried again later")
        try:
            self._identity()
            if self._child is not None and not self._child.alive:
                self._stop_child()
            if self._child is None:
                self._child = self._open()
        except (ChildDied, VectorIndexError) as error:
            self._open_failures += 1
            if self._open_failures >= FAILURES_TO_PAUSE:
                self._open_failures = 0
                self._paused_until = self._monotonic() + PAUSE_SECONDS
            raise VectorIndexError(str(error)) from error
        self._open_failures = 0
        return self._child

    def _open(self) -> ChromaProcess:
        try:
            return self._start()
        except OpenFailed as error:
            log.warning("vector index: %s; it is made anew", error)
            self._wipe()
            return self._start()

    def _start(self) -> ChromaProcess:
        return ChromaProcess(self._dir, call_timeout=self._call_timeout, start_timeout=self._start_timeout)

    def _identity(self) -> str:
        """The content's identity; where the folder or its database was removed, that of a new one."""
        identity = read_identity(self._dir)
        gone = self._child is not None and not (self._dir / DATABASE_FILE).exists()
        return self._wipe() if identity is None or gone else identity

    def _wipe(self) -> str:
        self._stop_child()
        self.generation += 1
        return make_empty(self._dir, LOCK_SECONDS)

    def _stop_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.stop()
