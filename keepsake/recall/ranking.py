"""Which memories are about a question: pure functions from candidates to an order.

A score is a weighted sum of parts that are each 0–1, so it is 0–1 itself:

    score = MEANING · meaning + WORDS · words + SPEAKER · (the question names who said it)

`meaning` is the cosine of question and message, stretched over the range that cosines of the model have. `words` is
BM25 (Robertson and Zaragoza 2009, k1 and b as there) as a share of what a message that has every word of the question
would get. Where there are no vectors, the words have the weight of meaning as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]

MEANING = 0.45
WORDS = 0.42
SPEAKER = 0.13
K1 = 1.2  # how fast more of the same word stops counting
B = 0.4  # how much a long message is marked down; chat messages are short, and long ones say more


@dataclass(frozen=True, slots=True)
class CosineScale:
    """The range of one embedding model's cosines: `nothing` and below count 0, `match` and above count 1."""

    nothing: float = 0.0
    match: float = 1.0

    def stretch(self, cosine: float) -> float:
        return min(max((cosine - self.nothing) / (self.match - self.nothing), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class TermMatches:
    """Where one term of the question stands in one user's messages: ids ascending, and how often in each."""

    message_ids: Int64
    counts: Int64
    lengths: Int64


def bm25(
    matches: Sequence[TermMatches], frequencies: Sequence[int], documents: int, mean_length: float
) -> dict[int, float]:
    """BM25 of every message with a term of the question, as a share (0–1) of the best that could be.

    `frequencies`: in how many messages each term of the question stands, those without matches given here too:
    a word that stands nowhere (0) still makes a full match impossible.
    """
    # The inverse document frequency of Lucene, which is never negative.
    weights = [float(np.log1p((documents - found + 0.5) / (found + 0.5))) for found in frequencies]
    best = sum(weights) * (K1 + 1)
    if best <= 0:
        return {}
    scores: dict[int, float] = {}
    for term, weight in zip(matches, weights, strict=False):
        norm = K1 * (1 - B + B * term.lengths / max(mean_length, 1.0))
        gains = weight * term.counts * (K1 + 1) / (term.counts + norm)
        for message_id, gain in zip(term.message_ids.tolist(), gains.tolist(), strict=True):
            scores[message_id] = scores.get(message_id, 0.0) + gain
    return {message_id: min(score / best, 1.0) for message_id, score in scores.items()}


def combine(meaning: float | None, words: float, speaker_named: bool) -> float:
    """The score of one memory, each part 0–1; `meaning` None where there are no vectors. Grows with every part."""
    of_words = WORDS * words if meaning is not None else (MEANING + WORDS) * words
    return MEANING * (meaning or 0.0) + of_words + (SPEAKER if speaker_named else 0.0)


def rank(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """Ids and scores, best first; of equals the newer (greater id) first."""
    return sorted(scores.items(), key=lambda item: (-item[1], -item[0]))
