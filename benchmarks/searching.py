"""How long search takes: for short and long memories, among many users, and the three reads of a tri-tier memory.

Vectors are random here: their making is not what is measured. Asked for by meaning and by words, like every search.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads a thread pool

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.filling import fill, random_vectors
from benchmarks.measure import Row, quantile, settings_for, table
from benchmarks.texts import SENTENCE, sentence
from bot_models.user_state import StateManager
from keepsake.index.embedder import E5Engine
from keepsake.manager import HybridMemoryManager

_TARGETS = {1_000: "1.15", 10_000: "1.3", 50_000: "1.8"}
_P95 = "3"
_QUESTIONS = 100
_READS = 1_000  # of what takes less than a millisecond
_USER = 7
_SHORT = 1_000  # messages of each user of the crowd
_RECENT = 20


@dataclass(slots=True)
class Taken:
    """Seconds of searches, and of the unit, measured in turns: the machine is not equally fast at all times."""

    searches: list[float] = field(default_factory=list)
    units: list[float] = field(default_factory=list)

    def in_units(self, share: float) -> float:
        return quantile(self.searches, share) / quantile(self.units, 0.5)


async def searches(folder: Path, sizes: Sequence[int]) -> list[Row]:
    """`search_memory` for one user with so many messages, as multiples of one embedding."""
    rows = []
    model = _model()
    for size in sizes:
        async with HybridMemoryManager(settings_for(folder / f"search{size}")) as memory:
            chance = await _user(memory, _USER, size)
            taken = Taken()
            for _ in range(_QUESTIONS):
                begun = time.perf_counter()
                model.encode([SENTENCE])
                taken.units.append(time.perf_counter() - begun)
                taken.searches.append(await _search_seconds(memory, chance))
        figures = f"{taken.in_units(0.5):.2f} / {taken.in_units(0.95):.2f}"
        what = f"search at {size:,} messages, embeddings, median / p95"
        rows.append(Row(what, figures, f"≤ {_TARGETS[size]} / {_P95}" if size in _TARGETS else ""))
    return rows


async def crowd(folder: Path, others: int) -> list[Row]:
    """A user's search among others with as many messages, against the same user's alone; asked in turns."""
    alone, among = folder / "alone", folder / "among"
    async with (
        HybridMemoryManager(settings_for(alone)) as by_itself,
        HybridMemoryManager(settings_for(among)) as crowded,
    ):
        for user_id in range(1, others + 1):
            await _fill(crowded, _USER + user_id, _SHORT)
        await _user(by_itself, _USER, _SHORT)
        await _user(crowded, _USER, _SHORT)
        ratios = await _in_turns(by_itself, crowded)
    what = f"search at {_SHORT:,} messages among {others} users with as many, of the same user alone, median"
    return [
        Row(what, f"{ratios[0]:.2f}", "≤ 1.3"),
        Row("the same without the embedding", f"{ratios[1]:.2f}", ""),
    ]


async def _in_turns(one: HybridMemoryManager, other: HybridMemoryManager) -> tuple[float, float]:
    """What a search costs in `other`, of one in `one`: with the embedding, and with it already made."""
    taken: dict[tuple[int, bool], list[float]] = {}
    chance = random.Random(5)
    order = [(0, one), (1, other)]
    for _ in range(2 * _QUESTIONS):
        question = sentence(chance)
        order.reverse()
        for who, memory in order:
            for known in (False, True):  # a question that is asked again is not embedded again
                seconds = await _seconds(memory.search_memory(_USER, question))
                taken.setdefault((who, known), []).append(seconds)
    with_embedding, without = (
        quantile(taken[1, known], 0.5) / quantile(taken[0, known], 0.5) for known in (False, True)
    )
    return with_embedding, without


async def reads(folder: Path, size: int) -> list[Row]:
    """The three rows of D: what RAM holds, the last messages from disk, and search with the embedding."""
    async with HybridMemoryManager(settings_for(folder / "reads")) as memory:
        chance = await _user(memory, _USER, size)
        states = StateManager()
        await memory.load_history_to_state(_USER, states.get_state(_USER), states)
        storage = (await memory.engine()).storage
        working = [_working_seconds(states) for _ in range(_READS)]
        episodic = [await _seconds(storage.last_messages(_USER, _RECENT)) for _ in range(_READS)]
        recall = [await _search_seconds(memory, chance) for _ in range(5 * _QUESTIONS)]
    return [
        Row("working memory, p99", _milliseconds(working), "0.8 ms"),
        Row(f"episodic read, the last {_RECENT} of {size:,} messages, p99", _milliseconds(episodic), "10 ms"),
        Row(f"semantic recall with its embedding, {size:,} messages, p99", _milliseconds(recall), "45 ms"),
    ]


def _model() -> E5Engine:
    model = E5Engine()
    model.load()
    model.encode([SENTENCE])
    return model


async def _fill(memory: HybridMemoryManager, user_id: int, size: int) -> random.Random:
    chance = random.Random(user_id * 1_000_003 + size)
    texts = [sentence(chance) for _ in range(size)]
    await fill(memory, user_id, texts, random_vectors(size, seed=user_id))
    return chance


async def _user(memory: HybridMemoryManager, user_id: int, size: int) -> random.Random:
    """A user whose index is filled and who has asked once. Returns what makes the next questions."""
    chance = await _fill(memory, user_id, size)
    await memory.save_message(user_id, "user", "one more, so that the index is filled")
    await memory.flush()
    await memory.search_memory(user_id, sentence(chance))
    return chance


async def _search_seconds(memory: HybridMemoryManager, chance: random.Random) -> float:
    return await _seconds(memory.search_memory(_USER, sentence(chance)))


async def _seconds(step: Awaitable[object]) -> float:
    begun = time.perf_counter()
    await step
    return time.perf_counter() - begun


def _working_seconds(states: StateManager) -> float:
    begun = time.perf_counter()
    "\n".join(states.get_state(_USER).ai_chat_history)
    return time.perf_counter() - begun


def _milliseconds(seconds: Sequence[float]) -> str:
    value = quantile(seconds, 0.99) * 1000
    return f"{value:.3f} ms" if value < 1 else f"{value:.1f} ms"


async def measure(folder: Path, *, quick: bool) -> list[Row]:
    """All rows, in `folder`."""
    rows = await searches(folder, sizes=(1_000,) if quick else tuple(_TARGETS))
    rows += await crowd(folder, others=9 if quick else 99)
    return rows + await reads(folder, size=1_000 if quick else 10_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.searching", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only small sizes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(table(asyncio.run(measure(Path(folder), quick=options.quick))))


if __name__ == "__main__":
    main()
