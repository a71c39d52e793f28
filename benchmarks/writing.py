"""Saving, indexing, and the context for users with a short and a long memory."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.filling import fill, random_vectors
from benchmarks.measure import Row, quantile, settings_for
from benchmarks.texts import SENTENCE, sentence
from keepsake.index.embedder import E5Engine
from keepsake.manager import HybridMemoryManager, MemoryManager

_QUESTIONS = 60
_USER = 7


def _bare_database(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE rows (text)")
    return connection


def _bare_commit_seconds(connection: sqlite3.Connection) -> float:
    begun = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO rows VALUES (?)", ("x" * 80,))
    connection.execute("COMMIT")
    return time.perf_counter() - begun


async def saving(folder: Path, unit: float) -> list[Row]:
    """`save_message` against a bare commit, and how fast messages are embedded when many come at once."""
    folder.mkdir(parents=True)
    chance = random.Random(1)
    bare_database = _bare_database(folder)
    commits, saves = [], []
    async with MemoryManager(settings_for(folder / "quiet")) as memory:
        for _ in range(400):  # in turns: the disk is not equally fast at all times
            commits.append(_bare_commit_seconds(bare_database))
            text = sentence(chance)
            begun = time.perf_counter()
            await memory.save_message(_USER, "user", text)
            saves.append(time.perf_counter() - begun)
    bare_database.close()
    bare = quantile(commits, 0.5)
    async with HybridMemoryManager(settings_for(folder / "sustained")) as hybrid:
        await hybrid.save_message(_USER, "user", "a first one, so that everything is loaded")
        await hybrid.flush()
        begun = time.perf_counter()
        for _ in range(400):
            await hybrid.save_message(_USER, "user", sentence(chance))
        await hybrid.flush()
        rate = 400 / (time.perf_counter() - begun)
    return [
        Row("bare FULL commit", f"{bare * 1000:.2f} ms", ""),
        Row("save_message, of a bare commit, median", f"{quantile(saves, 0.5) / bare:.1f}", "≤ 3"),
        Row("sustained with vectors made, of the embedding rate", f"{rate * unit:.2f}", "≥ 0.9"),
    ]


async def contexts(folder: Path, sizes: Sequence[int]) -> list[Row]:
    """The context for a question, in embeddings. Vectors are random here: their making is not what is measured."""
    rows = []
    model = E5Engine()
    model.load()
    for size in sizes:
        chance = random.Random(size)
        async with HybridMemoryManager(settings_for(folder / f"context{size}")) as memory:
            await _fill(memory, size, chance)
            await memory.get_context(_USER, sentence(chance))
            units, taken = [], []
            for _ in range(_QUESTIONS):  # in turns: the machine is not equally fast at all times
                begun = time.perf_counter()
                model.encode([SENTENCE])
                units.append(time.perf_counter() - begun)
                question = sentence(chance)
                begun = time.perf_counter()
                await memory.get_context(_USER, question)
                taken.append(time.perf_counter() - begun)
        unit = quantile(units, 0.5)
        target = {1_000: "1.2", 10_000: "1.4", 50_000: "2"}[size]
        figures = f"{quantile(taken, 0.5) / unit:.2f} / {quantile(taken, 0.95) / unit:.2f}"
        rows.append(
            Row(f"context at {size:,} messages, embeddings, median / p95", figures, f"≤ {target} / 3.5")
        )
    return rows


async def _fill(memory: HybridMemoryManager, size: int, chance: random.Random) -> None:
    texts = [sentence(chance) for _ in range(size)]
    await fill(memory, _USER, texts, random_vectors(size, seed=size))
    await memory.save_message(_USER, "user", "one more, so that the index is filled")
    await memory.flush()
