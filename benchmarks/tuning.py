"""The weights of recall's ranking, fitted: `python -m benchmarks.tuning FOLDER`, the folder as for `benchmarks.recall`.

A question's candidates get probabilities by softmax over their weighted evidence; what is maximised is the mean
logarithm of what its answers get together, LoCoMo and the chats each a half. First in five folds over conversations,
whose held-out recall is printed, then over everything, which gives the weights of `keepsake.recall.ranking`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.dated_chats import Asked, load
from benchmarks.measure import settings_for
from benchmarks.recall import measures
from keepsake.manager import HybridMemoryManager
from keepsake.recall.question import Question
from keepsake.recall.ranking import PARTS

Float = NDArray[np.float64]

_FOLDS = 5
_RIDGE = 3e-4
OF_MEANING = ("meaning", "meaning_beside", "meaning_of_session")


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its candidates: ids (n,), evidence (n, parts), and for each need the rows that meet it."""

    asked: Asked
    ids: NDArray[np.int64]
    evidence: Float
    right: tuple[NDArray[np.int64], ...]

    @property
    def whole(self) -> str:
        return self.asked.labels[0]


async def cases(data: Path, *, by_meaning: bool) -> list[Case]:
    """Every question that has an answer."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        async with HybridMemoryManager(settings_for(Path(folder))) as memory:
            engine = await memory.engine()
            for asked in await load(memory, data):
                if asked.needs:
                    question = Question(
                        asked.user_id, asked.text, asked.history, now=asked.now or engine.clock()
                    )
                    candidates = await engine._recall.candidates(question, by_meaning=by_meaning)
                    rows = [
                        np.broadcast_to(getattr(candidates.evidence, part), len(candidates.ids))
                        for part in PARTS
                    ]
                    right = (np.flatnonzero(np.isin(candidates.ids, group)) for group in asked.needs)
                    evidence = np.stack(rows, axis=1).astype(np.float64)
                    found.append(
                        Case(asked, candidates.ids, evidence, tuple(one for one in right if len(one)))
                    )
    return found


def fit(known: Sequence[Case], parts: Sequence[str]) -> Float:
    """A weight for each of `parts`, none below 0 but that of `asks`."""
    columns = [PARTS.index(part) for part in parts]
    number: dict[str, int] = defaultdict(int)
    for case in known:
        number[case.whole] += 1

    def loss(weights: Float) -> tuple[float, Float]:
        total, slope = _RIDGE * float(weights @ weights), 2 * _RIDGE * weights
        for case in known:
            if not case.right:
                continue
            rows = case.evidence[:, columns]
            scores = rows @ weights
            odds = np.exp(scores - scores.max())
            odds /= odds.sum()
            share = 1 / len(number) / number[case.whole] / len(case.right)
            for right in case.right:
                of_right = odds[right].sum()
                total -= share * np.log(of_right)
                slope = slope - share * (odds[right] @ rows[right] / of_right - odds @ rows)
        return total, slope

    bounds = [(None, 0.0) if part == "asks" else (0.0, None) for part in parts]
    return np.asarray(minimize(loss, np.full(len(parts), 1.0), jac=True, method="L-BFGS-B", bounds=bounds).x)


def ranked(case: Case, parts: Sequence[str], weights: Float) -> list[int]:
    """Ids, best first."""
    scores = case.evidence[:, [PARTS.index(part) for part in parts]] @ weights
    return [int(one) for one in case.ids[np.lexsort((-case.ids, -scores))]]


def held_out(known: Sequence[Case], parts: Sequence[str]) -> dict[str, list[list[float]]]:
    """Recall at 5, at 10 and reciprocal ranks by label, of questions whose conversations were not fitted to."""
    folds = dict(_folds(known))
    found: dict[str, list[list[float]]] = defaultdict(list)
    for fold in range(_FOLDS):
        weights = fit([case for case in known if folds[case.asked.user_id] != fold], parts)
        for case in known:
            if folds[case.asked.user_id] == fold:
                for label in case.asked.labels:
                    found[label].append(measures(ranked(case, parts, weights), case.asked.needs))
    return found


def _folds(known: Sequence[Case]) -> Iterable[tuple[int, int]]:
    """Each conversation's fold; those of one set go to different folds."""
    of_set: dict[str, dict[int, None]] = defaultdict(dict)
    for case in known:
        of_set[case.whole][case.asked.user_id] = None
    for users in of_set.values():
        yield from ((user, place % _FOLDS) for place, user in enumerate(users))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("data", type=Path, help="folder with locomo*.json and multilingual/")
    parser.add_argument("--words-only", action="store_true", help="without vectors")
    options: Any = parser.parse_args()
    known = asyncio.run(cases(options.data, by_meaning=not options.words_only))
    parts = [part for part in PARTS if not (options.words_only and part in OF_MEANING)]
    print("Held out: recall@5 / @10 / MRR")
    for label, rows in held_out(known, parts).items():
        print(
            f"  {label:32} {' / '.join(f'{100 * value:.1f}' for value in np.mean(rows, axis=0))}  ({len(rows)})"
        )
    weights = fit(known, parts)
    print("\nOver everything, the greatest as 1:")
    for part, weight in zip(parts, weights / weights.max(), strict=True):
        print(f"  {part:20} {weight:6.2f}")


if __name__ == "__main__":
    main()
