"""Which memories are about a question: pure functions from candidates to an order.

A score is a weighted sum of what speaks for a message, each part 0–1, as a share of the sum of all weights, so it is
0–1 itself. An answer often stands beside the words that match, so its neighbours and its session count as well.

`meaning` is the cosine of question and message, stretched over the range that cosines of the model have. `words` is
BM25 (Robertson and Zaragoza 2009, k1 and b as there) as a share of what a message that has every word of the question
would get. Where there are no vectors, `words` takes the weight of meaning over, and the weights of what means the same
nearby are left out of the sum.

The weights were found by coordinate ascent over dated chats in four languages and LoCoMo's conversations, in folds over
conversations, and rounded; `words` then was raised, so that the word itself comes before what stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]
Shares = NDArray[Any] | float

K1 = 1.2  # how fast more of the same word stops counting
B = 0.4  # how much a long message is marked down; chat messages are short, and long ones say more


@dataclass(frozen=True, slots=True)
class CosineScale:
    """The range of one embedding model's cosines: `nothing` and below count 0, `match` and above count 1."""

    nothing: float = 0.0
    match: float = 1.0

    def stretch(self, cosines: Float) -> Float:
        return np.clip((cosines - self.nothing) / (self.match - self.nothing), 0.0, 1.0)


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for messages, each part one number, 0–1, a message (n,); or for one message, plain numbers.

    `beside`: the best of its two neighbours; `near`: the mean of the two behind them.
    """

    meaning: Shares = 0.0
    words: Shares = 0.0
    meaning_beside: Shares = 0.0
    words_beside: Shares = 0.0
    words_near: Shares = 0.0
    meaning_of_session: Shares = 0.0
    words_of_session: Shares = 0.0
    speaker_is_named: Shares = 0.0
    by_user: Shares = 0.0
    length: Shares = 0.0
    asks: Shares = 0.0  # a question is seldom an answer


def combine(evidence: Evidence, *, by_meaning: bool = True) -> Float:
    """Scores, 0–1, of messages (n,). They grow with every part but `asks`. `by_meaning`: there are vectors."""
    total = (
        0.46 * evidence.words
        + 0.20 * evidence.words_beside
        + 0.30 * evidence.words_near
        + 0.14 * evidence.words_of_session
        + 0.29 * evidence.speaker_is_named
        + 0.10 * evidence.by_user
        + 0.20 * evidence.length
        - 0.11 * evidence.asks
    )
    most = 1.69
    if by_meaning:
        total += 0.45 * evidence.meaning + 0.18 * evidence.meaning_beside + 0.17 * evidence.meaning_of_session
        most += 0.80
    else:
        total += 0.45 * evidence.words
        most += 0.45
    return np.clip(total / most, 0.0, 1.0)


def lengths_of(sizes: Int64) -> Float:
    """How long texts of so many bytes are, 0–1: longer ones say more, ever less so, and from 1,100 on no more."""
    return np.minimum(np.log1p(sizes) / _LONG, 1.0)


_LONG = math.log1p(1100)


def rank(ids: Int64, scores: Float) -> list[tuple[int, float]]:
    """Ids and scores, best first; of equals the newer (greater id) first."""
    order = np.lexsort((-ids, -scores))
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
