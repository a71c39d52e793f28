"""Assembling a full prompt for a long memory, and how prompts grow with a conversation: `make bench-budget`.

`ARGS=--quick`: a shorter memory and conversation.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads a thread pool

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.filling import fill, random_vectors
from benchmarks.measure import Row, quantile, settings_for, table
from benchmarks.texts import sentence
from keepsake.engine import Engine
from keepsake.index.chroma import ChromaIndex
from keepsake.index.embedder import open_embedder
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.models import FactDraft, Message
from keepsake.parts import Parts
from keepsake.recall.question import Question
from keepsake.settings import Settings, load_settings
from keepsake.store import facts
from tests.model_server import MODEL, ModelServer

_USER = 7
_START = datetime(2026, 1, 1, tzinfo=UTC)
_QUESTIONS = 100
_LONG = 250  # words of a message that fills its share
_TURN = 20
_SUMMARY = 90
_STEPS = (50, 100, 200, 500, 1_000, 2_000, 5_000)


class _Timed(Engine):
    """Knows how long the search took, with the embedding in it."""

    searched = 0.0

    async def search(
        self, question: Question, limit: int, *, above_floor: bool = False
    ) -> list[tuple[Message, float]]:
        begun = time.perf_counter()
        try:
            return await super().search(question, limit, above_floor=above_floor)
        finally:
            self.searched = time.perf_counter() - begun


async def assembling(folder: Path, size: int) -> list[Row]:
    """Milliseconds of a whole recall without its search, where the prompt fills its 4,000 tokens."""
    settings, chance = settings_for(folder), random.Random(1)
    async with HybridMemoryManager(settings) as memory:
        texts = [sentence(chance) for _ in range(size)]
        await fill(memory, _USER, texts, random_vectors(size, seed=size))
        for number in range(60):
            role = "assistant" if number % 2 else "user"
            await memory.save_message(_USER, role, sentence(chance, _LONG))
        engine = await memory.engine()
        drafts = [FactDraft(sentence(chance), (1,)) for _ in range(6)]
        for draft in drafts:
            await engine.storage.database.write(facts.insert, _USER, draft, engine.storage.now_micros())
        await memory.flush()
    taken, tokens = await _recalls(settings, chance)
    what = f"assembling a prompt of {round(quantile(tokens, 0.5), -1):,.0f} tokens, {size:,} messages"
    figures = f"{quantile(taken, 0.5) * 1000:.1f} / {quantile(taken, 0.95) * 1000:.1f} ms"
    return [Row(f"{what}, beyond embedding and search, median / p95", figures, "< 10 ms")]


async def _recalls(settings: Settings, chance: random.Random) -> tuple[list[float], list[int]]:
    embedder = open_embedder(settings.embedding_model)
    chroma = ChromaIndex(settings.vector_dir)
    engine = await _Timed.open(settings, Parts(embedder, chroma))
    assert isinstance(engine, _Timed)
    taken, tokens = [], []
    try:
        await engine.contexts.recall(_USER, sentence(chance))  # loads the tables
        for _ in range(_QUESTIONS):
            question = sentence(chance, 40)
            begun = time.perf_counter()
            recalled = await engine.contexts.recall(_USER, question)
            taken.append(time.perf_counter() - begun - engine.searched)
            tokens.append(sum(count for _, count in recalled.sections))
    finally:
        await engine.close()
        await chroma.close()
        if embedder is not None:
            await embedder.close()
    return taken, tokens


async def growing(folder: Path, steps: Sequence[int]) -> list[Row]:
    """Tokens of the request after so many messages, with summaries of 90 words by a served model."""
    chance, rows = random.Random(2), []
    with ModelServer(summary=lambda _: sentence(chance, _SUMMARY)) as server:
        settings = load_settings(
            data_dir=folder, openai_base_url=server.url, openai_model=MODEL, fact_extraction_every=1_000_000
        )
        async with MemoryManager(settings) as memory:
            said = 0
            for step in steps:
                for number in range(said, step):
                    role = "assistant" if number % 2 else "user"
                    when = _START + timedelta(minutes=7 * number)
                    await memory.save_message(_USER, role, sentence(chance, _TURN), created_at=when)
                said = step
                await memory.flush()
                sizes = [await _tokens(memory, sentence(chance, _TURN)) for _ in range(20)]
                rows.append(
                    Row(
                        f"tokens of a request after {step:,} messages", f"{quantile(sizes, 0.5):,.0f}", "flat"
                    )
                )
    return rows


async def _tokens(memory: MemoryManager, question: str) -> int:
    return sum(tokens for _, tokens in (await memory.recall(_USER, question)).sections)


async def _measure(folder: Path, *, quick: bool) -> list[Row]:
    rows = await assembling(folder / "assembling", 2_000 if quick else 50_000)
    return rows + await growing(folder / "growing", _STEPS[:4] if quick else _STEPS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a shorter memory and conversation")
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        print(table(asyncio.run(_measure(Path(folder), quick=options.quick))))


if __name__ == "__main__":
    main()
