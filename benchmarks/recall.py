"""Recall on dated chats whose answers are known: `make bench-recall DATA=folder`.

The folder holds LoCoMo (any `locomo*.json`, as github.com/snap-research/locomo publishes it) and, or,
`multilingual/chat*.jsonl` with `questions*.jsonl`. How LoCoMo is read stands in `benchmarks.locomo`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import asyncio
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dated_chats import Asked, load
from benchmarks.measure import quantile, settings_for
from keepsake.manager import HybridMemoryManager
from keepsake.recall import by_words
from keepsake.recall.question import Question, understand

_DEPTHS = (5, 10)


async def answers(memory: HybridMemoryManager, question: Asked, found: Sequence[int]) -> dict[str, list[int]]:
    """Ids of the first ten, best first, by each way of searching; `found`: by keepsake's."""
    engine = await memory.engine()
    vectors, database = engine._vectors, engine.storage.database
    assert vectors is not None
    query = await vectors.embed_query(question.text)
    near = await vectors.nearest(question.user_id, query, 1_000_000)
    cosines = {item: cosine for (kind, item), cosine in near if kind == "message"}
    asked = understand(Question(question.user_id, question.text), [])
    words = (await database.read(by_words.search, question.user_id, asked, 10, ())).shares
    both = {item: cosine + 0.4 * words.get(item, 0.0) for item, cosine in cosines.items()}
    return {
        "keepsake": list(found),
        "cosine": sorted(cosines, key=cosines.__getitem__, reverse=True)[:10],
        "BM25": [*words][:10],
        "cosine + 0.4 BM25": sorted(both, key=both.__getitem__, reverse=True)[:10],
    }


def measures(found: Sequence[int], needs: Sequence[Sequence[int]]) -> list[float]:
    """Recall at 5, at 10, and the reciprocal rank of the first that is needed."""
    hits = [
        sum(any(one in found[:depth] for one in group) for group in needs) / len(needs) for depth in _DEPTHS
    ]
    wanted = {one for group in needs for one in group}
    first = next((place for place, one in enumerate(found, 1) if one in wanted), None)
    return [*hits, 1 / first if first else 0.0]


async def measure(data: Path) -> str:
    """The tables, in Markdown."""
    scores: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    taken: list[float] = []
    judged = Judged()
    with tempfile.TemporaryDirectory() as folder:
        async with HybridMemoryManager(settings_for(Path(folder))) as memory:
            for question in await load(memory, data):
                begun = time.perf_counter()
                found = await memory.search_memory(
                    question.user_id, question.text, 10, history=question.history, now=question.now
                )
                taken.append(time.perf_counter() - begun)
                ids = [message.id for message, _ in found]
                await judged.add(memory, question, ids)
                if question.needs:
                    for way, by_way in (await answers(memory, question, ids)).items():
                        for label in question.labels:
                            scores[label, way].append(measures(by_way, question.needs))
    return "\n\n".join([_table(scores), judged.report(), _milliseconds(taken)])


@dataclass
class Judged:
    """What order and silence are judged by. `kept` and `whole`: recall at 5 with the floor and without."""

    newer_first: list[bool] = field(default_factory=list)
    silent: list[bool] = field(default_factory=list)
    kept: float = 0.0
    whole: float = 0.0

    async def add(self, memory: HybridMemoryManager, asked: Asked, found: Sequence[int]) -> None:
        """Judges a question. `found`: ids of the first ten without the floor."""
        engine = await memory.engine()
        question = Question(asked.user_id, asked.text, asked.history, now=asked.now or engine.clock())
        shown = [message.id for message, _ in await engine.search(question, 10, above_floor=True)]
        if not asked.needs:
            self.silent.append(not shown)
            return
        self.kept += measures(shown, asked.needs)[0]
        self.whole += measures(found, asked.needs)[0]
        if asked.outdated:
            place = {one: number for number, one in enumerate(found)}
            wanted = min(place.get(one, 10) for group in asked.needs for one in group)
            self.newer_first.append(wanted < min(place.get(one, 11) for one in asked.outdated))

    def report(self) -> str:
        return (
            f"Of {len(self.newer_first)} changed facts the newer message stands before the outdated one in"
            f" {sum(self.newer_first)}. Of {len(self.silent)} questions without an answer {sum(self.silent)} get"
            f" nothing above the floor, under which the others lose {100 * (1 - self.kept / self.whole):.0f} % of"
            " their recall at 5."
        )


def _table(scores: dict[tuple[str, str], list[list[float]]]) -> str:
    ways = list(dict.fromkeys(way for _, way in scores))
    lines = [f"| recall@5 / @10 / MRR | questions | {' | '.join(ways)} |", "| --- " * (2 + len(ways)) + "|"]
    for label in dict.fromkeys(label for label, _ in scores):
        cells = []
        for way in ways:
            rows = scores[label, way]
            cells.append(
                " / ".join(f"{100 * sum(column) / len(rows):.0f}" for column in zip(*rows, strict=True))
            )
        lines.append(f"| {label} | {len(scores[label, ways[0]])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _milliseconds(taken: Sequence[float]) -> str:
    median, late = (quantile(taken, share) * 1000 for share in (0.5, 0.95))
    return f"A search with its embedding: {median:.1f} / {late:.1f} ms, median / p95."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="folder with locomo*.json and multilingual/")
    data = parser.parse_args().data
    if not list(data.glob("locomo*.json")) and not (data / "multilingual").is_dir():
        parser.error(f"{data} holds neither locomo*.json nor multilingual/")
    print(asyncio.run(measure(data)))


if __name__ == "__main__":
    main()
