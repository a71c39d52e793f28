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


def rarity(frequencies: Int64, documents: int) -> Float:
    """What one mention of each term is worth, by the number of messages (terms,) it stands in.

    The inverse document frequency of Lucene, which is never negative: ln(1 + (N - n + 0.5) / (n + 0.5)).
    """
    return np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))


def most_of(matches: Sequence[tuple[Int64, float]], limit: int) -> list[int]:
    """Ids of the messages that hold most of the terms by weight; of equals the newer (greater id).

    `matches`: for each term the ids of its messages and its weight.
    """
    if not matches:
        return []
    ids, places = np.unique(np.concatenate([found for found, _ in matches]), return_inverse=True)
    weights = np.concatenate([np.full(len(found), weight) for found, weight in matches])
    sums = np.bincount(places, weights=weights)
    best: list[int] = ids[np.lexsort((-ids, -sums))[:limit]].tolist()
    return best


def bm25(counts: Int64, lengths: Int64, weights: Float, mean_length: float) -> Float:
    """BM25 of each message (messages,) as a share, 0–1, of what one would get that has every term over and over.

    `counts` (messages, terms): how often a term stands there; `lengths` (messages,): in terms; `weights` (terms,):
    from `rarity`. A term that stands nowhere weighs most, so that without it there is no full match.
    """
    best = float(weights.sum()) * (K1 + 1)
    if best <= 0:
        return np.zeros(len(counts))
    norm = K1 * (1 - B + B * lengths / max(mean_length, 1.0))
    gains = counts * (K1 + 1) / (counts + norm[:, None])
    return np.asarray(gains @ weights / best, dtype=np.float64)


def combine(meaning: float | None, words: float, speaker_named: bool) -> float:
    """The score of one memory, each part 0–1; `meaning` None where there are no vectors. Grows with every part."""
    of_words = WORDS * words if meaning is not None else (MEANING + WORDS) * words
    return MEANING * (meaning or 0.0) + of_words + (SPEAKER if speaker_named else 0.0)


def rank(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """Ids and scores, best first; of equals the newer (greater id) first."""
    return sorted(scores.items(), key=lambda item: (-item[1], -item[0]))
