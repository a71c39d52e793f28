"""bot.py as a whole process, for the tests of the command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

from keepsake.settings import PROJECT_DIR

BOT = str(PROJECT_DIR / "bot.py")


@dataclass(frozen=True, slots=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def remark(self) -> str:
        """The one line that standard error holds."""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.strip()


def bot(*arguments: str, stdin: str = "", **environment: str) -> Ended:
    """Runs a command to its end."""
    done = subprocess.run(
        [sys.executable, BOT, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env=_environment(environment),
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def shell(command: str) -> Ended:
    """The same as a line of a shell, with its redirections."""
    line = f"{shlex.quote(sys.executable)} {shlex.quote(BOT)} {command}"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=120, env=_environment({})
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def start(
    *arguments: str, stderr: int = subprocess.PIPE, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts a command, with pipes to talk through."""
    return subprocess.Popen(
        [sys.executable, BOT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=_environment(environment or {}),
    )


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "LOG_LEVEL": "WARNING", **more}


class RunningChat:
    """A terminal chat that stays open and holds the folder."""

    def __init__(self, **environment: str) -> None:
        self._environment = environment

    def __enter__(self) -> Self:
        self.process = start("chat", environment=self._environment)
        self.say("hello there, are you awake?")
        return self

    def say(self, line: str) -> str:
        """Sends a line and returns the first line of the answer."""
        _pipe(self.process.stdin).write(line + "\n")
        _pipe(self.process.stdin).flush()
        return _pipe(self.process.stdout).readline()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.communicate(timeout=60)


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
