"""Kills a piece of work at each of its steps in turn: a step is the call of a function of some files.

Each run is a fork, so that nothing is imported again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from keepsake.settings import PROJECT_DIR

Work = Callable[[], Coroutine[Any, Any, None]]


class Steps:
    """Counts calls of functions in `files`, and kills the process at the one that is `wanted`.

    `once`: only the first call of each; `names`: only of these.
    """

    def __init__(
        self,
        wanted: int,
        tell: int,
        files: Collection[str],
        *,
        once: bool = False,
        names: Collection[str] | None = None,
    ) -> None:
        self._wanted = wanted
        self._tell = tell
        self._files = files
        self._once = once
        self._names = names
        self._seen: set[str] = set()
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_qualname
        if event != "call" or frame.f_code.co_filename not in self._files or name.endswith(">"):
            return
        if self._names is not None and name not in self._names:
            return
        with self._lock:
            if self._once and name in self._seen:
                return
            self._seen.add(name)
            self._count += 1
            if self._count == self._wanted:
                os.write(self._tell, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)


def forked(work: Work, steps: Steps | None = None) -> int:
    """Runs `work` in a process of its own; the signal that ended it, 0 for none."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if steps is not None:
                threading.setprofile(steps)
                sys.setprofile(steps)
            asyncio.run(work())
            status = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the child must not go on as the parent
            traceback.print_exc()
        finally:
            os._exit(status)
    _, ended = os.waitpid(pid, 0)
    if os.WIFEXITED(ended) and os.WEXITSTATUS(ended):
        raise AssertionError("the process failed")
    return os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else 0


def killed_at_each_step(
    model: Path, data_dir: Path, work: Work, steps: Callable[[int, int], Steps]
) -> Iterator[str]:
    """Does `work` in a copy of `model` over and over, each time killed a step later; the steps' names.

    `steps` makes the one that kills, from its number and where it is to write the name. Ends where no step is left.
    """
    step = 1
    while True:
        shutil.rmtree(data_dir, ignore_errors=True)
        shutil.copytree(model, data_dir)
        read, write = os.pipe()
        ended = forked(work, steps(step, write))
        os.close(write)
        name = os.read(read, 200).decode()
        os.close(read)
        if not ended:
            return
        yield name
        step += 1


def report(name: str, faults: list[str]) -> None:
    """What a driver says of one step."""
    sys.stdout.write(json.dumps({"at": name, "faults": faults}) + "\n")
    sys.stdout.flush()


def reported(driver: str, *arguments: str) -> list[dict[str, Any]]:
    """Runs a driver as a process, to its end; what it said of each step."""
    ended = subprocess.run(
        [sys.executable, "-m", driver, *arguments],
        cwd=PROJECT_DIR,
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]
