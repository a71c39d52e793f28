"""Many users with a short memory each, all active once: RAM and open files stay bounded."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil

from benchmarks.measure import Row, settings_for
from benchmarks.texts import sentence
from keepsake.clock import system_clock
from keepsake.manager import HybridMemoryManager
from keepsake.store import embeddings, jobs, users
from keepsake.store.jobs import CHROMA
from keepsake.store.messages import NewMessage
from keepsake.store.storage import SQLiteMemoryStorage

_MESSAGES = 50
ROOT = Path(__file__).resolve().parents[1]


def run(folder: Path, people: int) -> list[Row]:
    """In a process of its own, so that nothing else counts."""
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.crowd", str(folder), str(people)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    own, tree, files = out
    what = f"{people:,} users with {_MESSAGES} messages each, all active once"
    return [
        Row(f"{what}: RSS of the process / with Chroma's child", f"{own} / {tree} MB", "< 700 MB"),
        Row(f"{what}: open files of both", files, "< 1,000"),
    ]


async def _be_active(folder: Path, people: int) -> None:
    chance = random.Random(3)
    async with HybridMemoryManager(settings_for(folder)) as memory:
        engine = await memory.engine()
        for user_id in range(1, people + 1):
            await _past(engine.storage, user_id, chance)
        for user_id in range(1, people + 1):
            await memory.save_message(user_id, "user", sentence(chance))
            await memory.get_context(user_id, sentence(chance))
        process = psutil.Process()
        everybody = [process, *process.children(recursive=True)]
        rss = [one.memory_info().rss / 1e6 for one in everybody]
        files = sum(one.num_fds() for one in everybody)
        print(round(rss[0]), round(sum(rss)), files)


async def _past(storage: SQLiteMemoryStorage, user_id: int, chance: random.Random) -> None:
    """Messages with random vectors, handed to Chroma in the background like any."""
    numbers = np.random.default_rng(user_id)

    def save(connection: sqlite3.Connection) -> None:
        saved = [
            storage._save_message(connection, NewMessage(user_id, "user", sentence(chance), system_clock()))
            for _ in range(_MESSAGES)
        ]
        vectors = numbers.standard_normal((_MESSAGES, 384), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        model = str(users.get_meta(connection, "embedding_model"))
        rows = [("message", message.id, vector) for message, vector in zip(saved, vectors, strict=True)]
        embeddings.store(connection, user_id, model, rows)  # type: ignore[arg-type]
        jobs.enqueue(connection, CHROMA, str(user_id), storage.now_micros(), user_id=user_id)

    await storage.database.write(save)


if __name__ == "__main__":
    asyncio.run(_be_active(Path(sys.argv[1]), int(sys.argv[2])))
