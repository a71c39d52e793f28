"""Run as a process: erases a person over and over, each time killed at another step, and finishes it at a next start.

A step is the call of a function; `first`: only the first call of each that the erasure itself is made of. Prints a line
of JSON for each: the step, and what is wrong afterwards. Each erasure runs in a fork, so nothing is imported again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

from keepsake.forgetting import anchor, durable, erase, ledger, plan, service
from keepsake.forgetting.ledger import Ledger
from keepsake.forgetting.registry import count_rows
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from keepsake.store import jobs
from keepsake.store.database import connect_reader, connect_writer, transact
from keepsake.verify import verify
from tests.forgetting.rows import fill

PERSON, OTHER = 5, 55
SECRETS = [f"heron-{number}-violet sleeps in my garden" for number in range(12)]
_ITSELF = {str(module.__file__) for module in (durable, erase)}
_ALL = _ITSELF | {str(module.__file__) for module in (anchor, jobs, ledger, plan, service)}


def prepare(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True)
    with closing(connect_writer(folder / "memory.db")) as connection:
        transact(connection, fill, PERSON, SECRETS)
        transact(connection, fill, OTHER, ["the tea of the other one is green", "and it is hot today"])
        connection.execute("DELETE FROM jobs WHERE kind <> 'erase'")


class Steps:
    """Counts calls, and kills the process at the one that is wanted."""

    def __init__(self, wanted: int, tell: int, *, first: bool) -> None:
        self._wanted = wanted
        self._tell = tell
        self._first = first
        self._files = _ITSELF if first else _ALL
        self._seen: set[str] = set()
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_qualname
        if event != "call" or frame.f_code.co_filename not in self._files or name.endswith(">"):
            return
        with self._lock:
            if self._first and name in self._seen:
                return
            self._seen.add(name)
            self._count += 1
            if self._count == self._wanted:
                os.write(self._tell, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)


async def erase_person() -> None:
    async with MemoryManager(load_settings()) as memory:
        await memory.begin_erasure(PERSON)
        await memory.flush()


async def next_start(data_dir: Path) -> None:
    async with MemoryManager(load_settings()) as memory:
        await memory.flush()
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        begun = not any(count_rows(connection, PERSON).values())
    if not begun:  # killed before the wish was on the disk
        await erase_person()


def forked(work: Callable[[], Coroutine[Any, Any, None]], steps: Steps | None = None) -> int:
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


def faults(data_dir: Path) -> list[str]:
    """What is not as after an erasure that nobody disturbed."""
    content = b"\n".join(path.read_bytes() for path in data_dir.rglob("*") if path.is_file())
    found = [secret for secret in SECRETS if secret[:16].encode() in content]
    found += [path.name for path in data_dir.glob("erasing-*")]
    lines = Ledger(data_dir).path.read_text().splitlines()
    if len(lines) != 1 or json.loads(lines[0])["left"] or json.loads(lines[0])["counts"]["messages"] != 12:
        found.append(f"{len(lines)} receipts: {lines}")
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        found += [check.detail for check in verify(connection, data_dir, with_vectors=False) if not check.ok]
        if count_rows(connection, OTHER)["messages"] != 2:
            found.append("somebody else lost messages")
        if connection.execute("SELECT 1 FROM jobs WHERE user_id = ?", (PERSON,)).fetchone():
            found.append("a job names the person")
    return found


def main(first: bool) -> None:
    data_dir = load_settings().data_dir
    model = data_dir.with_name("model")
    prepare(model)
    step = 1
    while True:
        shutil.rmtree(data_dir, ignore_errors=True)
        shutil.copytree(model, data_dir)
        read, write = os.pipe()
        ended = forked(erase_person, Steps(step, write, first=first))
        os.close(write)
        if not ended:
            return
        name = os.read(read, 200).decode()
        os.close(read)
        forked(lambda: next_start(data_dir))
        sys.stdout.write(json.dumps({"step": step, "at": name, "faults": faults(data_dir)}) + "\n")
        sys.stdout.flush()
        step += 1


if __name__ == "__main__":
    main(sys.argv[1] == "first")
