"""memory.db: what is acknowledged is on the disk, and a foreign file is refused with one clear line."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from keepsake.errors import DatabaseError
from keepsake.store import migrate, users
from keepsake.store.database import Database, connect_reader, connect_writer


async def test_pragmas_that_durability_and_erasure_rest_on(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")

    def pragmas(connection: sqlite3.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    assert await database.write(lambda connection: connection.execute("SELECT 1").fetchone()[0]) == 1
    try:
        found = await database.write(pragmas)
    finally:
        await database.close()
    assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1}


async def test_migrations_stand_in_the_ledger_and_run_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for _ in range(2):
        connect_writer(path).close()
    connection = connect_reader(path)
    ledger = connection.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()
    connection.close()
    assert ledger == [(m.number, m.name) for m in migrate.migrations()]


@pytest.mark.parametrize("version", [migration.number for migration in migrate.migrations()[:-1]])
def test_a_database_of_each_older_schema_is_upgraded_with_what_it_holds(tmp_path: Path, version: int) -> None:
    older = [migration for migration in migrate.migrations() if migration.number <= version]
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as connection:
        migrate.upgrade(connection, older)
        connection.execute("INSERT INTO users (user_id, handle, created_at) VALUES (7, 'x', 1)")
    with closing(connect_writer(tmp_path / "memory.db")) as connection:
        assert migrate.schema_version(connection) == migrate.migrations()[-1].number
        assert connection.execute("SELECT user_id FROM users").fetchall() == [(7,)]
        made = connection.execute("SELECT (SELECT count(*) FROM models), (SELECT count(*) FROM summaries)")
        assert made.fetchone() == (0, 0)


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    connection = connect_writer(tmp_path / "memory.db")
    known = migrate.migrations()
    half = "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1);"
    broken = migrate.Migration(known[-1].number + 1, "broken", half)
    with pytest.raises(sqlite3.OperationalError):
        migrate.upgrade(connection, (*known, broken))
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    version = migrate.schema_version(connection)
    connection.close()
    assert "half" not in tables
    assert version == known[-1].number


@pytest.mark.parametrize(
    "content", [b"dear diary, " * 500, b"\x00" * 5000, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseError, match=r"memory\.db"):
        connect_writer(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE theirs (a)")
    foreign.commit()
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match="another program"):
        connect_writer(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = connect_writer(path)
    connection.execute("PRAGMA user_version = 9999")
    connection.close()
    with pytest.raises(DatabaseError, match="newer keepsake"):
        connect_writer(path)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connect_writer(path).close()
    reader = connect_reader(path)
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("INSERT INTO meta VALUES ('a', 'b')")
    reader.close()


async def test_work_runs_whole_even_when_its_task_is_cancelled(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        users.set_meta(connection, "first", "1")
        begun.set()
        go_on.wait(10)
        users.set_meta(connection, "second", "2")

    task = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await database.write(users.get_meta, "second") == "2"
    await database.close()


def raising(error: sqlite3.Error, code: int) -> Callable[[sqlite3.Connection], None]:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('half', 'done')")
        error.sqlite_errorcode = code
        raise error

    return work


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (sqlite3.SQLITE_FULL, "make room"),
        (sqlite3.SQLITE_CORRUPT_VTAB, "restore a backup"),
        (sqlite3.SQLITE_IOERR_WRITE, "check it"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "end that program"),
    ],
)
async def test_what_the_world_does_to_it_is_one_line_that_says_what_to_do(
    tmp_path: Path, code: int, advice: str
) -> None:
    database = await Database.open(tmp_path / "memory.db")
    with pytest.raises(DatabaseError, match=rf"memory\.db .*{advice}") as caught:
        await database.write(raising(sqlite3.OperationalError("my secret words"), code))
    assert "secret" not in str(caught.value)
    assert await database.read(users.get_meta, "half") is None
    await database.close()


async def test_a_full_disk_leaves_the_transaction_undone_and_the_database_usable(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")

    def fill(connection: sqlite3.Connection) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        connection.execute("INSERT INTO meta VALUES ('big', ?)", ("x" * 1_000_000,))

    with pytest.raises(DatabaseError, match="disk is full"):
        await database.write(fill)
    await database.write(users.set_meta, "small", "1")
    assert await database.read(users.get_meta, "big") is None
    await database.close()


async def test_a_damaged_page_is_said_by_readers_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = connect_writer(path)
    connection.executemany("INSERT INTO meta VALUES (?, 'x')", [(f"key {n}" * 100,) for n in range(500)])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    content = bytearray(path.read_bytes())
    content[-4096 * 50 :] = b"\x55" * (4096 * 50)
    path.write_bytes(content)
    database = await Database.open_reader(path)
    with pytest.raises(DatabaseError, match="damaged"):
        await database.read(lambda reader: reader.execute("SELECT key, value FROM meta").fetchall())
    with pytest.raises(DatabaseError, match="permissions"):
        await database.write(users.set_meta, "a", "b")
    await database.close()


async def test_a_bug_stays_what_it_is(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await database.read(lambda connection: connection.execute("SELECT * FROM nowhere"))
    await database.write(users.set_meta, "a", "1")
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda connection: connection.execute("INSERT INTO meta VALUES ('a', '2')"))
    await database.close()


async def test_nothing_runs_on_the_event_loops_thread(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    threads = {
        await database.write(lambda _: threading.get_ident()),
        await database.read(lambda _: threading.get_ident()),
    }
    await database.close()
    assert threading.get_ident() not in threads
    assert len(threads) == 2


def test_a_loop_that_ended_in_the_middle_does_not_break_the_next_one(tmp_path: Path) -> None:
    """`asyncio.run` may end while a transaction runs; the thread must survive it (aiosqlite's own would die)."""
    path = tmp_path / "memory.db"
    opened: list[Database] = []
    go_on = threading.Event()

    async def first() -> None:
        database = await Database.open(path)
        opened.append(database)

        def slow(connection: sqlite3.Connection) -> None:
            go_on.wait(10)
            users.set_meta(connection, "key", "kept")

        task = asyncio.create_task(database.write(slow))
        await asyncio.sleep(0.05)
        task.cancel()

    async def second() -> str | None:
        value = await opened[0].write(users.get_meta, "key")
        await opened[0].close()
        return value

    asyncio.run(first())
    go_on.set()
    assert asyncio.run(second()) == "kept"


def test_a_folder_in_the_place_of_memory_db_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir(mode=0o755)
    for connect in (connect_writer, connect_reader):
        with pytest.raises(DatabaseError, match="is a folder"):
            connect(tmp_path / "memory.db")
    assert (tmp_path / "memory.db").stat().st_mode & 0o777 == 0o755
