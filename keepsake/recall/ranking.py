"""Which memories are about a question: pure functions from candidates to an order.

A score is a weighted sum of what speaks for a message, each part 0–1, as a share of the sum of all weights, so it is
0–1 itself. An answer often stands beside the words that match, so its neighbours and its session count as well.

`meaning` is the cosine of question and message, stretched over the range that cosines of the model have. `words` is
BM25 (Robertson and Zaragoza 2009, k1 and b as there) as a share of what a message that has every word of the question
would get.

The weights are those of `python -m benchmarks.tuning` over dated chats in four languages and LoCoMo's conversations,
rounded; `words` then was raised, so that the word itself comes before what stands beside it. Without vectors there is
another set of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]
Shares = NDArray[Any] | float
Match = tuple[Int64, float]  # ids of the messages in which a term stands, and what the term weighs

NEWER = 0.08  # of a score of 1: so much the newest of the first results gets ahead of the oldest
_FIRST = 5
_AS_MUCH = 0.8
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


def most_of(matches: Sequence[Match], limit: int) -> list[int]:
    """Ids of the messages that hold most of the terms by weight; of equals the newer (greater id)."""
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

    `meaning_beside`: of the better of its two neighbours; `words_around` and `words_in_session`: the share of the
    question's words, by weight, that stand within two messages of it, and in its session; `answers_words`: the words
    of the message before it, where that asks.
    """

    meaning: Shares = 0.0
    words: Shares = 0.0
    meaning_beside: Shares = 0.0
    meaning_of_session: Shares = 0.0
    words_around: Shares = 0.0
    words_in_session: Shares = 0.0
    answers_words: Shares = 0.0
    speaker_is_named: Shares = 0.0
    in_period: Shares = 0.0
    tells_when: Shares = 0.0
    by_user: Shares = 0.0
    length: Shares = 0.0
    asks: Shares = 0.0  # a question is seldom an answer


WEIGHTS = Evidence(
    meaning=1.00,
    words=0.30,
    meaning_beside=0.46,
    meaning_of_session=0.29,
    words_around=0.29,
    words_in_session=0.16,
    answers_words=0.38,
    speaker_is_named=0.32,
    in_period=0.40,
    tells_when=0.29,
    by_user=0.56,
    length=0.56,
    asks=-0.18,
)
WEIGHTS_WITHOUT_MEANING = Evidence(
    words=1.00,
    words_around=0.40,
    words_in_session=0.25,
    answers_words=0.45,
    speaker_is_named=0.39,
    in_period=0.38,
    tells_when=0.35,
    by_user=0.20,
    length=0.30,
    asks=-0.11,
)
PARTS = tuple(part.name for part in fields(Evidence))


def combine(evidence: Evidence, *, by_meaning: bool = True) -> Float:
    """Scores, 0–1, of messages (n,). They grow with every part but `asks`. `by_meaning`: there are vectors."""
    weights = WEIGHTS if by_meaning else WEIGHTS_WITHOUT_MEANING
    total = sum(getattr(weights, part) * np.asarray(getattr(evidence, part)) for part in PARTS)
    most = sum(max(getattr(weights, part), 0.0) for part in PARTS)
    return np.asarray(np.clip(total / most, 0.0, 1.0), dtype=np.float64)


def lengths_of(sizes: Int64) -> Float:
    """How long texts of so many bytes are, 0–1: longer ones say more, ever less so, and from 1,100 on no more."""
    return np.minimum(np.log1p(sizes) / _LONG, 1.0)


_LONG = math.log1p(1100)


def rank(ids: Int64, scores: Float) -> list[tuple[int, float]]:
    """Ids and scores, best first; of equals the newer (greater id) first."""
    order = np.lexsort((-ids, -scores))
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def newer_first(ranked: Sequence[tuple[int, float]], about: Mapping[int, float]) -> list[tuple[int, float]]:
    """Among the first five of a ranking newer ones (greater ids) move up: what holds now was said last.

    Only those move that are as much about the question as the others, by `about` (meaning and words together). The one
    of k-th age gets up to `NEWER` on top for being compared; the scores are dealt out anew, so that they still fall.
    """
    first = ranked[:_FIRST]
    if len(first) < 2:
        return list(ranked)
    enough = _AS_MUCH * max(about.get(one, 0.0) for one, _ in first)
    step = NEWER / (len(first) - 1)
    ahead = {
        one: step * age if about.get(one, 0.0) >= enough else 0.0
        for age, one in enumerate(sorted(one for one, _ in first))
    }
    order = sorted(first, key=lambda found: (-found[1] - ahead[found[0]], -found[0]))
    return [*((one, score) for (one, _), (_, score) in zip(order, first, strict=True)), *ranked[_FIRST:]]
