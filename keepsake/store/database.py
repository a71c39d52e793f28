"""The one owner of memory.db: a writer connection and a reader connection, each on its own aiosqlite thread.

A transaction is one plain function over a `sqlite3.Connection`, run whole on the writer's thread: it can be
neither interleaved with another nor left half done by a cancelled task, and it costs one thread hop.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import aiosqlite

from keepsake.errors import DatabaseError
from keepsake.store import migrate

P = ParamSpec("P")
T = TypeVar("T")

_BUSY_TIMEOUT_MS = 10_000
_CHECKPOINT_TIMEOUT_MS = 100
_PAGE_CACHE_KB = 4_000  # the system keeps the file's pages as well
_DAMAGED = "is damaged; `bot.py verify` says more, restore a backup"
# What the world does to a file, by SQLite's primary result code. Any other error is a bug and stays as it is.
_FAILURES = {
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full; make room",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_READONLY: "cannot be written; check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the permissions of the file and its folder",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk fails or is full; check it",
    sqlite3.SQLITE_BUSY: "is kept busy by another program; end that program",
}
_PRIMARY = 0xFF  # an extended result code carries the primary one in its low byte


def connect_writer(path: Path) -> sqlite3.Connection:
    """Opens memory.db for writing and brings it to the present schema.

    Raises DatabaseError where the file is not ours, is newer than this program or cannot be opened.
    """
    _refuse_folder(path)
    try:
        # What people said is for the bot alone, also in a folder that others may read; the log files take this over.
        path.touch(mode=0o600)
        path.chmod(0o600)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    except (sqlite3.Error, OSError) as error:
        raise DatabaseError(f"{path} cannot be opened ({error}); check its permissions") from error
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        migrate.check_ours(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # an acknowledged message survives a power cut
        connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten, not only unlinked
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_PAGE_CACHE_KB}")
        migrate.upgrade(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise DatabaseError(f"{path} cannot be used as keepsake's memory ({error})") from error
    except DatabaseError:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Opens memory.db read-only, as commands beside a running bot do.

    Raises DatabaseError where there is no such file, or it is not ours.
    """
    _refuse_folder(path)
    if not path.is_file():
        raise DatabaseError(f"{path} is not there yet: it is made when the bot first runs")
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise DatabaseError(f"{path} cannot be opened ({error}); check its permissions") from error
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA query_only = ON")
        migrate.check_ours(connection, path)
        migrate.check_current(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise DatabaseError(f"{path} cannot be read as keepsake's memory ({error})") from error
    except DatabaseError:
        connection.close()
        raise
    return connection


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise DatabaseError(f"{path} is a folder, and has to be a file; move it away")


@contextmanager
def plain_failures(path: Path) -> Iterator[None]:
    """Turns what SQLite says of a full disk, a damaged file and the like into a DatabaseError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        says = _FAILURES.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY)
        if says is None:
            raise
        raise DatabaseError(f"{path} {says}") from error


def transact(
    connection: sqlite3.Connection,
    work: Callable[Concatenate[sqlite3.Connection, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Runs `work(connection, …)` as one transaction: all of it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection, *args, **kwargs)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk makes SQLite roll back by itself
            connection.execute("ROLLBACK")
        raise
    return result


class Database:
    """Both connections, for use from an event loop. Open it with `Database.open`."""

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader

    @classmethod
    async def open(cls, path: Path) -> Database:
        writer = await _open(lambda: connect_writer(path))
        try:
            reader = await _open(lambda: connect_reader(path))
        except BaseException:
            await writer.close()
            raise
        return cls(path, writer, reader)

    @classmethod
    async def open_reader(cls, path: Path) -> Database:
        """For reading only: every write fails. Raises DatabaseError where there is no memory.db yet."""
        reader = await _open(lambda: connect_reader(path))
        return cls(path, reader, reader)

    async def write(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Runs `work` as one transaction; when this returns it is on the disk. Raises DatabaseError."""
        with plain_failures(self.path):
            return await _run(self._writer, lambda: transact(self._writer._conn, work, *args, **kwargs))

    async def read(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Runs `work` over all that is committed, without waiting for a writer. Raises DatabaseError."""
        with plain_failures(self.path):
            return await _run(self._reader, lambda: work(self._reader._conn, *args, **kwargs))

    async def checkpoint(self) -> None:
        """Moves the write-ahead log into memory.db and truncates it, so that no old page stays there.

        Where somebody still reads old pages it stays: nobody's writes wait for that reader.
        """
        with plain_failures(self.path):
            await _run(self._writer, lambda: _checkpoint(self._writer._conn))

    async def vacuum(self) -> None:
        """Writes memory.db anew: SQLite leaves copies of rows in the free space of pages when it moves them,
        also with secure_delete. Writes wait meanwhile; needs as much free disk as memory.db takes.
        Raises sqlite3.OperationalError where it cannot: memory.db then stays as it is.
        """
        await _run(self._writer, lambda: self._writer._conn.execute("VACUUM").fetchall())

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()

    def abandon(self) -> None:
        """Closes without waiting, for an event loop that has ended. Each transaction is whole or not at all."""
        self._reader.stop()
        self._writer.stop()


def _checkpoint(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_TIMEOUT_MS}")
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")


async def _open(connector: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    connection = aiosqlite.Connection(connector, iter_chunk_size=64)
    # A program that never calls close() must still be able to end; each transaction is whole or not at all.
    connection._thread.daemon = True
    try:
        return await connection
    except DatabaseError:
        # Its thread reports its end to this loop, which must still be there then.
        await asyncio.to_thread(connection._thread.join)
        raise


async def _run(connection: aiosqlite.Connection, work: Callable[[], T]) -> T:
    """Runs `work` on the connection's thread, between its other work.

    aiosqlite has no public way to run a whole function there, so this puts it on the thread's queue itself (a test
    holds that). It also delivers the result itself: aiosqlite's thread would die of an event loop that ended meanwhile.
    """
    if not connection._running:
        raise DatabaseError("the memory was closed; open it again")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def step() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the caller's, who waits on the future
            _deliver(loop, partial(_fail, future, error))
        else:
            _deliver(loop, partial(_succeed, future, result))

    connection._tx.put_nowait((None, step))
    return await future


def _deliver(loop: asyncio.AbstractEventLoop, settle: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended: nobody waits any more
        loop.call_soon_threadsafe(settle)


def _succeed(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
