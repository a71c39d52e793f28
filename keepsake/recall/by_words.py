"""The keyword route: which messages hold a question's words. One step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from keepsake.recall.question import Same, Understood
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
    same = [one for one in asked.same if set(one.asked) <= set(asked.terms)]
    others = _others(connection, user_id, terms, same)
    for column, found in others.items():
        frequencies[column] = min(frequencies[column] + len(found), documents)
    weights = rarity(frequencies, documents)
    weights[len(asked.terms) :] *= EARLIER_WORDS
    matches = _matches(connection, user_id, terms, frequencies, weights, others)
    most = most_of(matches, SCORED_MAX)
    more = list(dict.fromkeys(term for one in same for term in one.said if term not in terms))
    ids, counts, lengths = keywords.counts(connection, user_id, most, [*terms, *more])
    shares = bm25(_joined(counts, [*terms, *more], len(terms), same), lengths, weights, mean_length)
    ranked = rank(np.array(ids, dtype=np.int64), shares)
    best = [one for one, _ in ranked if one not in without][:limit]
    return ByWords(dict(ranked), best, matches, float(weights.sum()))


def _others(
    connection: sqlite3.Connection, user_id: int, terms: Sequence[str], same: Sequence[Same]
) -> dict[int, Int64]:
    """For the terms, by column, that name somebody: ids of the messages that name them with other words."""
    found: dict[int, Int64] = {}
    for one in same:
        each = [keywords.documents(connection, user_id, term, DOCUMENTS_MAX) for term in one.said]
        ids = reduce(np.intersect1d, each)
        for term in one.asked:
            column = terms.index(term)
            found[column] = np.union1d(found.get(column, ids), ids)
    return found


def _joined(counts: Int64, terms: Sequence[str], asked: int, same: Sequence[Same]) -> Int64:
    """Counts of the first `asked` terms (messages, asked); a name counts wherever another one of it stands whole."""
    joined = counts[:, :asked].copy()
    for one in same:
        times = counts[:, [terms.index(term) for term in one.said]].min(axis=1)
        joined[:, [terms.index(term) for term in one.asked]] += times[:, None]
    return joined


def _matches(
    connection: sqlite3.Connection,
    user_id: int,
    terms: Sequence[str],
    frequencies: Int64,
    weights: Float,
    others: Mapping[int, Int64],
) -> list[Match]:
    """Ids of the messages of each term with its weight, the rarest terms first. `others`: as many again, by column.

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
            if column in others:
                found = np.union1d(found, others[column])[-room:]
            matches.append((found, float(weights[column])))
            room -= len(found)
            if room <= 0 or (len(found) >= SCORED_MAX and weights[column] >= left):
                break
    return matches
