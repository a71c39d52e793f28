"""Saving, indexing, and the context for users with a short and a long memory."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import SENTENCE, Row, quantile, settings_for
from keepsake.clock import system_clock
from keepsake.index.embedder import E5Engine
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.models import Role
from keepsake.store import embeddings, users
from keepsake.store.embeddings import Vector
from keepsake.store.messages import NewMessage

_VOCABULARY = """
time house road morning train window table letter garden water brother market ticket winter kitchen doctor
office music paper summer river school bread station evening mother colour bridge engine flower island
jacket lesson money number orange pencil question report shoulder theatre uncle village weather yellow
autumn basket candle dinner engineer forest guitar holiday insurance journey key lamp mountain neighbour
ocean passport quarter restaurant sugar telephone umbrella violet wallet airport battery camera driver
example fridge glass hospital invoice jam kettle
"""
_WORDS = _VOCABULARY.split()
_TOPICS = ("harbour", "orchard", "ferry", "violin", "bakery", "museum", "bicycle", "library")
_QUESTIONS = 60
_USER = 7


def sentence(chance: random.Random, words: int = 12) -> str:
    """Words by a Zipf-like law, so that some are in most messages and some in few."""
    picked = [_WORDS[min(int(chance.paretovariate(0.7)) - 1, len(_WORDS) - 1)] for _ in range(words - 1)]
    return " ".join([*picked, chance.choice(_TOPICS)])


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
            await fill(memory, size, chance)
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


async def fill(memory: HybridMemoryManager, size: int, chance: random.Random) -> None:
    """Puts `size` messages with random vectors into a memory, in one transaction."""
    engine = await memory.engine()
    storage = engine.storage
    numbers = np.random.default_rng(size)

    def save_all(connection: sqlite3.Connection) -> None:
        for number in range(size):
            role: Role = "user" if number % 2 else "assistant"
            storage._save_message(connection, NewMessage(_USER, role, sentence(chance), system_clock()))
        connection.execute("UPDATE users SET fact_cursor = (SELECT max(id) FROM messages)")
        connection.execute("DELETE FROM jobs")
        ids = [row[0] for row in connection.execute("SELECT id FROM messages")]
        model = str(users.get_meta(connection, "embedding_model"))
        vectors: Vector = numbers.standard_normal((len(ids), 384), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        made = [("message", item, vector) for item, vector in zip(ids, vectors, strict=True)]
        embeddings.store(connection, _USER, model, made)  # type: ignore[arg-type]

    await storage.database.write(save_all)
    await memory.save_message(_USER, "user", "one more, so that the index is filled")
    await memory.flush()
