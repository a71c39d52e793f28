"""Run as a process, `python -m tests.engine.kill_driver ROUNDS SEED`: lives that are killed, then one that is not.

In each life three people write without an end while their messages are indexed, facts are drawn from them and what was
replaced long ago is pruned. Lives are forks, so nothing is imported again; days pass between them. Prints a line of
JSON a life (what was acknowledged, what `verify` says of the dead folder), and one for how it all ends.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from keepsake.clock import to_micros
from keepsake.facts import vocabulary
from keepsake.forgetting.service import PRUNE
from keepsake.manager import HybridMemoryManager
from keepsake.prompt import tokens
from keepsake.settings import load_settings
from keepsake.store import jobs
from keepsake.store.database import connect_reader
from keepsake.verify import verify

USERS = (1, 2, 3)
# What goes on beside the writing, each a kind of job that needs nothing told.
BESIDE = (PRUNE,)
# Most lives end while the work in the background begins, some get as far as to draw and prune facts.
_LONGEST_LIVES_SECONDS = (0.4, 0.4, 3.0)
_DAYS_BETWEEN_LIVES = 10
_MESSAGES_BETWEEN_PAUSES, _MESSAGES_BETWEEN_JOBS, _PAUSE_SECONDS = 3, 8, 0.06
_STALLED_SECONDS = 60


def memory_in(life: int) -> HybridMemoryManager:
    """The memory, as its clock goes in that life."""
    later = timedelta(days=life * _DAYS_BETWEEN_LIVES)
    return HybridMemoryManager(load_settings(), clock=lambda: datetime.now(UTC) + later)


async def live(life: int, begin: int, told: int) -> None:
    """Writes until it is killed, and tells which messages are acknowledged."""
    memory = memory_in(life)
    number = begin
    await do_beside(memory, "begin")
    while True:
        user_id = USERS[number % len(USERS)]
        content = f"I live in Town{number} and keep {number} bees"
        saved = await memory.save_message(user_id, "user", content)
        os.write(told, f"{user_id} {saved.id} {content}\n".encode())
        number += 1
        if number % _MESSAGES_BETWEEN_JOBS == 0:
            await do_beside(memory, str(number))
        if number % _MESSAGES_BETWEEN_PAUSES == 0:
            await asyncio.sleep(
                _PAUSE_SECONDS
            )  # so that the work in the background gets its turn in the middle


async def do_beside(memory: HybridMemoryManager, key: str) -> None:
    """Queues what goes on beside the writing."""
    engine = await memory.engine()
    for kind in BESIDE:
        await engine.storage.database.write(jobs.enqueue, kind, key, to_micros(engine.clock()))


def killed_life(life: int, begin: int, seconds: float) -> list[str]:
    """The lines of acknowledged messages from a process that is killed so long after its first one."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _run_and_exit(lambda: live(life, begin, write))
    os.close(write)
    with os.fdopen(read, "rb") as told:
        lines = [told.readline()]
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        lines += told.readlines()
    _, ended = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(ended):
        raise AssertionError(f"life {life} ended by itself")
    return [line.decode().rstrip("\n") for line in lines if line.endswith(b"\n")]


def _run_and_exit(work: Callable[[], Awaitable[None]]) -> NoReturn:
    status = 1
    try:
        asyncio.run(asyncio.wait_for(work(), _STALLED_SECONDS))
    finally:
        os._exit(status)


def off() -> list[str]:
    """What `verify` finds wrong in a folder that nobody holds."""
    settings = load_settings()
    with closing(connect_reader(settings.database_path)) as connection:
        return [f"{one.check}: {one.detail}" for one in verify(connection, settings.data_dir) if not one.ok]


async def settle(life: int) -> dict[str, object]:
    """Has everything done that waits, and counts."""
    async with memory_in(life) as memory:
        await do_beside(memory, "end")
        await memory.flush()
        stats = {user_id: await memory.get_memory_stats(user_id) for user_id in USERS}
        database = (await memory.engine()).storage.database
        return {
            "stats": stats,
            "messages": await database.read(
                lambda c: c.execute("SELECT user_id, id, content FROM messages ORDER BY id").fetchall()
            ),
            "facts": await database.read(
                lambda c: c.execute("SELECT user_id, status, content FROM facts ORDER BY id").fetchall()
            ),
        }


def warm_up() -> None:
    """Loads once what each life would load anew."""
    importlib.import_module("openai")
    vocabulary.predicates()
    vocabulary.markers()
    tokens.estimate("warm")


def _tell(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(rounds: int, seed: int) -> None:
    warm_up()
    chance = random.Random(seed)
    written = 0
    for life in range(rounds):
        acknowledged = killed_life(life, written, chance.uniform(0, chance.choice(_LONGEST_LIVES_SECONDS)))
        # The next life's numbers are new, whatever this one wrote without being able to say so.
        written += len(acknowledged) + 1
        _tell(acknowledged=acknowledged, off=off())
        if (
            life == rounds // 4
        ):  # so that the later lives find something to prune, however slow the machine is
            asyncio.run(settle(life))
    # What a backlog has left unread is read after some quiet minutes.
    asyncio.run(settle(rounds))
    _tell(**asyncio.run(settle(rounds + 1)))
    _tell(off=off())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
