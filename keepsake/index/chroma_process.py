"""Starts, asks and stops the child process of ChromaDB. Blocking: never runs on the event loop's thread."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from keepsake.errors import VectorIndexError
from keepsake.index.chroma_folder import lock_path

START_SECONDS = 60.0  # importing chromadb takes under a second on an idle machine
STOP_SECONDS = 10.0
_SECRET_ENDINGS = ("TOKEN", "KEY", "SECRET", "PASSWORD")
# Chroma writes files with room that it never filled: what stood in that memory before, vectors of another
# user too, would stand in them after that user is erased. glibc overwrites freed memory where it is told so.
_PERTURB = 0xA5
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class ChildDied(Exception):
    """The child ended, or hung and was ended, in the middle of a call."""


class OpenFailed(ChildDied):
    """The child could not open the folder: what is in it is damaged."""


class ChromaProcess:
    """One running child. A failed call ends it; start another then."""

    def __init__(
        self, vector_dir: Path, *, call_timeout: float, start_timeout: float = START_SECONDS
    ) -> None:
        """Starts the child and waits until it can answer.

        Raises OpenFailed where the folder is damaged, VectorIndexError where it is not the folder's fault.
        """
        self._call_timeout = call_timeout
        ours, theirs = socket.socketpair()
        with theirs:
            self._connection: Connection[Any, Any] = Connection(ours.detach())
            command = [sys.executable, "-P", "-m", "keepsake.index.chroma_worker", str(theirs.fileno())]
            command += [str(vector_dir), str(lock_path(vector_dir)), str(call_timeout * 2)]
            try:
                self._process = subprocess.Popen(
                    command,
                    pass_fds=(theirs.fileno(),),
                    cwd=vector_dir,  # chromadb reads `.env` in its working folder; there is none here
                    env=child_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                self._connection.close()
                raise VectorIndexError(f"the vector index cannot be started ({error.strerror})") from error
        self._await_ready(vector_dir, start_timeout)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def call(self, method: str, *arguments: object) -> tuple[str, Any]:
        """Status and result of one request (see chroma_worker). Raises ChildDied; the child is gone then."""
        try:
            self._connection.send((method, *arguments))
            status, result = self._receive(self._call_timeout)
            return status, result
        except (OSError, EOFError) as error:
            self.kill()
            raise ChildDied(f"the vector index's process {_why(error, self._process.returncode)}") from error

    def stop(self) -> None:
        """Lets the child finish and waits for its end. Idempotent."""
        self._connection.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def _receive(self, timeout: float) -> Any:
        if not self._connection.poll(timeout):
            raise TimeoutError
        return self._connection.recv()

    def _await_ready(self, vector_dir: Path, timeout: float) -> None:
        stage = "starting"
        try:
            while stage != "ready":
                stage = self._receive(timeout)
        except (OSError, EOFError) as error:
            self.kill()
            why = _why(error, self._process.returncode)
            if stage == "imported":
                raise OpenFailed(f"{vector_dir} cannot be opened, the process {why}") from error
            if stage == "waiting":
                raise VectorIndexError(
                    f"{vector_dir} is held by another process; wait until it has ended"
                ) from error
            hint = "" if isinstance(error, TimeoutError) else ": is chromadb installed?"
            raise VectorIndexError(f"the vector index's process {why} while it was {stage}{hint}") from error


def child_environment() -> dict[str, str]:
    """Our environment without secrets and without settings of Chroma, and with a path to this package."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().endswith(_SECRET_ENDINGS) and not name.upper().startswith("CHROMA_")
    }
    paths = [str(_PACKAGE_ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "ANONYMIZED_TELEMETRY": "False"}
    return kept | ours | {"MALLOC_PERTURB_": str(_PERTURB)}


def _why(error: Exception, status: int | None) -> str:
    return "did not answer in time" if isinstance(error, TimeoutError) else f"ended with status {status}"
