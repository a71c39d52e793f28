"""What was measured of each system, and the table of it: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measure import quantile
from benchmarks.recall import measures

HEADINGS = (
    "",
    "recall@5 / @10",
    "add",
    "add, found by meaning",
    "search",
    "store only",
    "restart to first answer by meaning",
    "left after deleting a user",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """One system. Seconds, but for `recall` (0–1) and `left` (texts and vectors, of those that stood there before).

    `add`: until it returns, median; `indexed`: until it can be found by meaning, mean over messages that come at
    once. `add_unit` and `unit`: one embedding by the same model, while adding and while searching.
    `store`: median search without the embedding, by messages of one user.
    """

    name: str
    recall: tuple[float, float]
    add: float
    indexed: float
    add_unit: float
    search: float
    unit: float
    store: Mapping[int, float]
    restart: float
    left: tuple[int, int]


def mean_recall(found: Sequence[Sequence[int]], needs: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Recall at 5 and at 10, averaged over the questions."""
    rows = [measures(one, [(need,) for need in wanted]) for one, wanted in zip(found, needs, strict=True)]
    return sum(row[0] for row in rows) / len(rows), sum(row[1] for row in rows) / len(rows)


def median(seconds: Sequence[float]) -> float:
    return quantile(seconds, 0.5)


def table(systems: Sequence[Figures], sizes: Sequence[int]) -> str:
    """The systems in Markdown, one a row."""
    at = " / ".join(f"{size / 1000:g}k" for size in sizes)
    headings = [f"{one} at {at}, ms" if one == "store only" else one for one in HEADINGS]
    lines = [f"| {' | '.join(headings)} |", "| --- " * len(headings) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(_cells(one, sizes))} |" for one in systems)])


def _cells(one: Figures, sizes: Sequence[int]) -> list[str]:
    return [
        one.name,
        f"{100 * one.recall[0]:.0f} / {100 * one.recall[1]:.0f}",
        timed(one.add, one.add_unit),
        timed(one.indexed, one.add_unit),
        timed(one.search, one.unit),
        " / ".join(milliseconds(one.store[size]) if size in one.store else "–" for size in sizes),
        f"{one.restart:.1f} s",
        remains(one.left),
    ]


def timed(seconds: float, unit: float) -> str:
    """Milliseconds, and in brackets how many embeddings that is."""
    return f"{milliseconds(seconds)} ms ({seconds / unit:.2f})"


def milliseconds(seconds: float) -> str:
    """Two digits that mean something: 0.07, 1.6, 18, 186."""
    value = seconds * 1000
    if value < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def remains(left: tuple[int, int]) -> str:
    words = [what for count, what in zip(left, ("text", "vectors"), strict=True) if count]
    return ", ".join(words) or "nothing"
