"""Recall on dated chats whose answers are known: `make bench-recall DATA=folder`.

The folder holds LoCoMo (any `locomo*.json`, as github.com/snap-research/locomo publishes it) and, or,
`multilingual/chat*.jsonl` with `questions*.jsonl`. How LoCoMo is read stands in `benchmarks.locomo`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import asyncio
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import locomo
from benchmarks.measure import quantile, settings_for
from keepsake.manager import HybridMemoryManager
from keepsake.recall import by_words
from keepsake.recall.question import Question, understand

_DEPTHS = (5, 10)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `needs`: groups of message ids; one of each group has to be found."""

    user_id: int
    text: str
    needs: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    history: tuple[str, ...] = ()


async def load_locomo(memory: HybridMemoryManager, path: Path, first_user: int) -> list[Asked]:
    """Keeps the conversations of a LoCoMo file and returns its questions."""
    asked = []
    for user_id, talk in enumerate(locomo.conversations(path), first_user):
        ids: dict[str, int] = {}
        for turn in talk.turns:
            said = await memory.save_message(
                user_id, "user", turn.text, sender=turn.speaker, created_at=turn.said_at
            )
            ids[turn.key] = said.id
        for question in talk.questions:
            needs = tuple((ids[key],) for key in question.evidence)
            labels = ("LoCoMo", f"LoCoMo, {question.category}", f"LoCoMo, user {user_id}")
            asked.append(Asked(user_id, question.text, needs, labels))
    return asked


async def load_chats(memory: HybridMemoryManager, folder: Path) -> list[Asked]:
    """Keeps the chats of `multilingual/` and returns its questions that have an answer."""
    ids: dict[int, int] = {}
    for line in _lines(folder.glob("chat*.jsonl")):
        moment = datetime.fromisoformat(line["created_at"])
        said = await memory.save_message(line["user_id"], line["role"], line["content"], created_at=moment)
        ids[line["mid"]] = said.id
    return [
        Asked(
            line["user_id"],
            line["query"],
            tuple(tuple(ids[one] for one in group) for group in line["need"]),
            ("chats", f"chats, {line['lang']}", f"chats, {line['kind']}"),
            tuple(turn["content"] for turn in line.get("history") or ()),
        )
        for line in _lines(folder.glob("questions*.jsonl"))
        if line["need"]
    ]


def _lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(paths)]
    return [json.loads(line) for text in texts for line in text.splitlines() if line.strip()]


async def answers(memory: HybridMemoryManager, question: Asked) -> dict[str, list[int]]:
    """Ids of the first ten, best first, by each way of searching."""
    engine = await memory.engine()
    vectors, database = engine._vectors, engine.storage.database
    assert vectors is not None
    found = await memory.search_memory(question.user_id, question.text, 10, history=question.history)
    query = await vectors.embed_query(question.text)
    near = await vectors.nearest(question.user_id, query, 1_000_000)
    cosines = {item: cosine for (kind, item), cosine in near if kind == "message"}
    asked = understand(Question(question.user_id, question.text), [])
    words = (await database.read(by_words.search, question.user_id, asked, 10, ())).shares
    both = {item: cosine + 0.4 * words.get(item, 0.0) for item, cosine in cosines.items()}
    return {
        "keepsake": [message.id for message, _ in found],
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
    """The table, in Markdown."""
    scores: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    taken: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with HybridMemoryManager(settings_for(Path(folder))) as memory:
            asked: list[Asked] = []
            for number, path in enumerate(sorted(data.glob("locomo*.json"))):
                asked += await load_locomo(memory, path, 1 + 1000 * number)
            if (data / "multilingual").is_dir():
                asked += await load_chats(memory, data / "multilingual")
            await memory.flush()
            for question in asked:
                begun = time.perf_counter()
                await memory.search_memory(question.user_id, question.text, 10, history=question.history)
                taken.append(time.perf_counter() - begun)
                for way, found in (await answers(memory, question)).items():
                    for label in question.labels:
                        scores[label, way].append(measures(found, question.needs))
    return _table(scores, taken)


def _table(scores: dict[tuple[str, str], list[list[float]]], taken: Sequence[float]) -> str:
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
    milliseconds = f"{quantile(taken, 0.5) * 1000:.1f} / {quantile(taken, 0.95) * 1000:.1f}"
    return "\n".join([*lines, "", f"A search with its embedding: {milliseconds} ms, median / p95."])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="folder with locomo*.json and multilingual/")
    data = parser.parse_args().data
    if not list(data.glob("locomo*.json")) and not (data / "multilingual").is_dir():
        parser.error(f"{data} holds neither locomo*.json nor multilingual/")
    print(asyncio.run(measure(data)))


if __name__ == "__main__":
    main()
