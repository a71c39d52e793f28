"""The lock of the data folder: one program at a time writes there.

The lock is the operating system's (flock) on DATA_DIR/keepsake.lock, so the death of its holder, however it
dies, releases it. The file says who holds it; what it says counts only while the lock is held.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from keepsake.errors import DataDirError, FolderHeld

LOCK_NAME = "keepsake.lock"
PID_NAME = "keepsake.pid"  # apart from the lock file, which whoever tries the lock opens for writing
_PATIENCE_SECONDS = 0.3  # somebody who only looks (`held`) keeps the lock for less than that


class FolderLock:
    """Holds DATA_DIR for this process, from `acquire` to `release`. Works as a context manager too."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._lock = FileLock(data_dir / LOCK_NAME, mode=0o600, thread_local=False)

    @property
    def acquired(self) -> bool:
        return self._lock.is_locked

    def acquire(self) -> None:
        """Makes the folder where it is missing, readable by its owner only, and takes the lock.

        Raises FolderHeld where another program has it, DataDirError where the folder cannot be used.
        """
        for name in (LOCK_NAME, PID_NAME):
            if (self.data_dir / name).is_dir():
                raise DataDirError(f"{self.data_dir / name} is a folder, and has to be a file; move it away")
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire(timeout=_PATIENCE_SECONDS, poll_interval=0.02)
            (self.data_dir / PID_NAME).write_text(f"{os.getpid()}\n", encoding="ascii")
        except Timeout:
            pid = holder(self.data_dir)
            who = f" (process {pid})" if pid else ""
            raise FolderHeld(
                f"{self.data_dir} is held by another program{who}; stop it or set DATA_DIR to another folder"
            ) from None
        except OSError as error:
            self._lock.release(force=True)
            raise DataDirError(
                f"DATA_DIR {self.data_dir} cannot be written ({error.strerror or error}); "
                "set DATA_DIR to a folder of your own"
            ) from error

    def release(self) -> None:
        """Gives the folder back; nothing happens where it is not held."""
        if self._lock.is_locked:
            with suppress(OSError):
                (self.data_dir / PID_NAME).unlink(missing_ok=True)
            self._lock.release(force=True)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def holder(data_dir: Path) -> int | None:
    """The process that says it holds the folder, None where none does. Only true while the lock is held."""
    try:
        return int((data_dir / PID_NAME).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def held(data_dir: Path) -> bool:
    """Does a program, this one too, hold the folder? Takes nothing and makes nothing."""
    if not (data_dir / LOCK_NAME).exists():
        return False
    probe = FileLock(data_dir / LOCK_NAME, mode=0o600, thread_local=False)
    try:
        probe.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    probe.release()
    return False
