"""The keyword route: which messages hold a question's words. One step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keepsake.recall.question import Understood
from keepsake.recall.ranking import Float, Int64, Match, bm25, most_of, rank, rarity
from keepsake.store import keywords

# Read from the keyword index for one question, rarest words first: what stands in more messages than that is common
# enough to say little, and costs most to read.
DOCUMENTS_MAX = 10_000
SCORED_MAX = 100  # messages whose words are counted for BM25
EARLIER_WORDS = 0.2  # what the words of the turns before a vague question weigh beside its own


@dataclass(frozen=True, slots=True)
class ByWords:
    """What the index says of a question's words.

    `shares`: BM25, 0–1, by id of the messages that hold most of the words; `best`: the best ids, best first; `matches`:
    for each word that was read the ids of its messages and its weight; `weight`: that of all words together.
    """

    shares: Mapping[int, float]
    best: Sequence[int]
    matches: Sequence[Match] = ()
    weight: float = 0.0


def search(
    connection: sqlite3.Connection, user_id: int, asked: Understood, limit: int, without: Collection[int]
) -> ByWords:
    """The messages of a user that hold a question's words; of the best, at most `limit`, none of `without`."""
    terms = [*asked.terms, *asked.earlier_terms]
    documents, mean_length = keywords.totals(connection, user_id)
    frequencies = np.array([keywords.frequency(connection, user_id, term) for term in terms], dtype=np.int64)
    weights = rarity(frequencies, documents)
    weights[len(asked.terms) :] *= EARLIER_WORDS
    matches = _matches(connection, user_id, terms, frequencies, weights)
    most = most_of(matches, SCORED_MAX)
    ids, counts, lengths = keywords.counts(connection, user_id, most, terms)
    shares = bm25(counts, lengths, weights, mean_length)
    ranked = rank(np.array(ids, dtype=np.int64), shares)
    best = [one for one, _ in ranked if one not in without][:limit]
    return ByWords(dict(ranked), best, matches, float(weights.sum()))


def _matches(
    connection: sqlite3.Connection, user_id: int, terms: Sequence[str], frequencies: Int64, weights: Float
) -> list[Match]:
    """Ids of the messages of each term with its weight, the rarest terms first.

    Common terms are left out once they cannot change who is among the best any more: where enough messages hold a
    term that weighs more than all terms together that are still to be read.
    """
    matches: list[Match] = []
    room = DOCUMENTS_MAX
    left = float(weights.sum())
    for column in np.argsort(frequencies, kind="stable").tolist():
        left -= float(weights[column])
        if frequencies[column]:
            found = keywords.documents(connection, user_id, terms[column], room)
            matches.append((found, float(weights[column])))
            room -= len(found)
            if room <= 0 or (len(found) >= SCORED_MAX and weights[column] >= left):
                break
    return matches
