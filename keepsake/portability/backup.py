"""A copy of memory.db: made beside a running bot, and put back in the place of the one that is there.

The copy is memory.db alone. The vector index is made anew from it, and the ledger of erasures with its key stays where
it is: who was erased since the copy was made is erased again when it is opened (`Forgetting.replay`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from keepsake.clock import from_micros, to_micros
from keepsake.errors import DatabaseError, SettingError
from keepsake.forgetting import anchor
from keepsake.forgetting.durable import sync_folder
from keepsake.forgetting.ledger import Ledger
from keepsake.forgetting.registry import covered
from keepsake.index.chroma_folder import make_empty
from keepsake.settings import PROJECT_DIR
from keepsake.store import messages, migrate, users
from keepsake.store.database import connect_reader, plain_failures

_MADE_AT = "backup"  # in `meta` of a copy
_STAGED, _ASIDE = ".restoring", ".before-restore"
_LOGS = ("-wal", "-shm", "-journal")
_INDEX_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Copy:
    """What a copy holds. `made_at`: None where it was not made by `back_up`."""

    made_at: datetime | None
    people: int
    messages: int


def back_up(database: Path, target: Path, *, now: datetime, replace: bool = False) -> Copy:
    """Writes a consistent copy of memory.db to `target`, for its owner's eyes only; whole, or not at all. Blocking.

    `replace`: an older copy may be there. Raises SettingError for a place that cannot be, DatabaseError where memory.db
    is damaged or the disk is full.
    """
    _check_target(database.parent, target, replace=replace)
    part = target.with_name(target.name + ".part")
    with plain_failures(target), _fresh_file(part):
        with closing(connect_reader(database)) as source, closing(_open(part)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, that can be read wherever it lies
            _refuse_damaged(copy, database, "restore an earlier backup")
            users.set_meta(copy, _MADE_AT, str(to_micros(now)))
            held = _held(copy)
        _sync(part)
        part.replace(target)
    sync_folder(target.parent)
    return held


def look_at(file: Path) -> Copy:
    """What a copy holds, once it is known to be whole and of a schema that this program knows. Blocking.

    Raises SettingError where there is no such file, DatabaseError for one that cannot be put back.
    """
    if not file.is_file():
        raise SettingError(f"{file} is not there")
    with plain_failures(file), closing(_open_read_only(file)) as connection:
        migrate.check_ours(connection, file)
        if migrate.schema_version(connection) == 0:
            raise DatabaseError(f"{file} is empty: it is no backup")
        _refuse_damaged(connection, file, "take another backup")
        return _held(connection)


def put_back(file: Path, database: Path) -> Copy:
    """Puts a copy in the place of memory.db, which stays aside until `tidy`. The caller holds the folder. Blocking.

    A kill leaves the one or the other in place, whole. Raises as `look_at`, and VectorIndexError.
    """
    held = look_at(file)
    staged = database.with_name(database.name + _STAGED)
    with plain_failures(staged), _fresh_file(staged):
        with closing(_open_read_only(file)) as source, closing(_open(staged)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            copy.execute("DELETE FROM meta WHERE key = ?", (_MADE_AT,))
            # What was being written then may count by now in a newer copy: it must not go at the start of this one.
            with suppress(sqlite3.OperationalError):  # an older schema has no archive
                copy.execute("DELETE FROM archive_files WHERE state = 'writing'")
            _join_ledger(
                copy, database, held.made_at or datetime.fromtimestamp(file.stat().st_mtime).astimezone()
            )
        _sync(staged)
        if (index := database.parent / "vector_db").exists():
            make_empty(index, _INDEX_PATIENCE_SECONDS)
        _set_aside(database)
        staged.replace(database)
    sync_folder(database.parent)
    return held


def tidy(database: Path) -> None:
    """Removes what was kept aside, and what a restore that was killed has left. Blocking."""
    for suffix in (_STAGED, _ASIDE):
        for path in database.parent.glob(f"{database.name}{suffix}*"):
            path.unlink(missing_ok=True)


def _join_ledger(copy: sqlite3.Connection, database: Path, made_at: datetime) -> None:
    """Says how far this folder's ledger was when the copy was made, where that is not what the copy remembers."""
    ledger = Ledger(database.parent)
    if anchor.read(copy) is not None and anchor.stands(ledger, anchor.read(copy)):
        return
    former = None
    with suppress(DatabaseError), closing(connect_reader(database)) as old:
        former = anchor.read(old)
    # A ledger that was cut off stays one. Else the copy is from elsewhere, and only its date says what it has seen.
    anchor.write(copy, ledger.end(made_at) if anchor.stands(ledger, former) else former)


def _set_aside(database: Path) -> None:
    if not database.exists():
        return
    aside = database.with_name(database.name + _ASIDE)
    with suppress(sqlite3.Error), closing(_open(database)) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for log in _LOGS:
        with suppress(FileNotFoundError):
            database.with_name(database.name + log).replace(aside.with_name(aside.name + log))
    aside.unlink(missing_ok=True)
    try:
        os.link(database, aside)  # so that at no moment there is no memory.db
    except OSError:
        database.replace(aside)


def _check_target(data_dir: Path, target: Path, *, replace: bool) -> None:
    folder, place = data_dir.resolve(), target.resolve()
    if not place.parent.is_dir():
        raise SettingError(f"{target.parent} is no folder")
    inside = place.is_relative_to(folder)
    if inside and (folder != PROJECT_DIR or covered(PurePosixPath(place.relative_to(folder).as_posix()))):
        raise SettingError(f"{target} lies in DATA_DIR, where erasing leaves nothing: name a file elsewhere")
    if place.exists() and not replace:
        raise SettingError(f"{target} is there already: name another file, or replace it with --force")
    if place.exists():
        try:
            with closing(_open_read_only(place)) as there:
                migrate.check_ours(there, place)
        except (sqlite3.Error, DatabaseError):
            raise SettingError(f"{target} is there already and is no backup: name another file") from None


@contextmanager
def _fresh_file(path: Path) -> Iterator[None]:
    """An empty file for its owner only; it goes where it is not moved to its place."""
    try:
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield
    except OSError as error:
        raise SettingError(f"{path} cannot be written ({error.strerror or error})") from error
    finally:
        for log in ("", *_LOGS):
            path.with_name(path.name + log).unlink(missing_ok=True)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA secure_delete = ON")
    return connection


def _open_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _refuse_damaged(connection: sqlite3.Connection, path: Path, mend: str) -> None:
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    if found != ["ok"]:
        raise DatabaseError(f"{path} is damaged ({found[0].splitlines()[-1]}); {mend}")


def _held(connection: sqlite3.Connection) -> Copy:
    made_at, totals = users.get_meta(connection, _MADE_AT), messages.totals(connection)
    return Copy(from_micros(int(made_at)) if made_at else None, totals["users"], totals["messages"])


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
