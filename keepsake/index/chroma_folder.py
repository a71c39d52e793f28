"""The folder of the vector index: who may touch it, which content it has, and how bytes leave it.

Nothing here imports chromadb. Everything that changes the folder holds its lock, so that no child process of
ours, not even one that outlived a killed bot, has it open.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

from keepsake.errors import VectorIndexError

IDENTITY_FILE = "identity"
DATABASE_FILE = "chroma.sqlite3"
_LOCK_POLL = 0.05  # seconds


def lock_path(vector_dir: Path) -> Path:
    """The lock stands beside the folder, so that it outlives it."""
    return vector_dir.parent / f"{vector_dir.name}.lock"


@contextmanager
def folder_lock(vector_dir: Path, wait_seconds: float) -> Iterator[None]:
    """Holds the folder for this process. Raises VectorIndexError where it stays held for `wait_seconds`."""
    file = os.open(lock_path(vector_dir), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + wait_seconds
        while not _try_lock(file):
            if time.monotonic() > until:
                raise VectorIndexError(f"{vector_dir} is held by another process; wait until it has ended")
            time.sleep(_LOCK_POLL)
        yield
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_identity(vector_dir: Path) -> str | None:
    """The random name of the folder's content; None where there is no folder, or not one of ours."""
    try:
        return (vector_dir / IDENTITY_FILE).read_text("ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def make_empty(vector_dir: Path, wait_seconds: float) -> str:
    """Removes whatever is there and makes an empty folder with a new identity, which is returned.

    Raises VectorIndexError where the folder is held or cannot be written.
    """
    try:
        vector_dir.parent.mkdir(parents=True, exist_ok=True)
        with folder_lock(vector_dir, wait_seconds):
            if vector_dir.is_dir() and not vector_dir.is_symlink():
                shutil.rmtree(vector_dir)
            elif vector_dir.is_symlink() or vector_dir.exists():
                vector_dir.unlink()
            vector_dir.mkdir(mode=0o700)
            identity = secrets.token_hex(16)
            (vector_dir / IDENTITY_FILE).write_text(identity, "ascii")
    except OSError as error:
        raise VectorIndexError(
            f"{vector_dir} cannot be made anew ({error.strerror}): check its permissions"
        ) from error
    return identity


def erase_deleted(vector_dir: Path, wait_seconds: float) -> None:
    """Removes every byte of deleted collections: folders that belong to none, free pages of the database.

    May run only while no child of ours is alive. Raises VectorIndexError where the folder is held,
    sqlite3.Error where the database is damaged.
    """
    database = vector_dir / DATABASE_FILE
    if not database.exists():
        return
    with (
        folder_lock(vector_dir, wait_seconds),
        closing(sqlite3.connect(database, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA secure_delete = ON")
        living = {str(row[0]) for row in connection.execute("SELECT id FROM segments")}
        for folder in vector_dir.iterdir():
            if folder.is_dir() and folder.name not in living and _is_uuid(folder.name):
                shutil.rmtree(folder)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_uuid(name: str) -> bool:
    try:
        UUID(name)
    except ValueError:
        return False
    return True
