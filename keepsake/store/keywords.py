"""Reading the keyword index: where a user's terms stand. Steps inside a transaction of `Database`.

Each term in the index carries its owner's id, so every number read here counts that user's messages only (R8).
FTS5's own bm25() is not used: it would count everybody's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands: message ids, ascending, and how often it stands in each."""

    term: str
    message_ids: Int64
    counts: Int64

    @property
    def document_frequency(self) -> int:
        return len(self.message_ids)


def frequency(connection: sqlite3.Connection, user_id: int, term: str) -> int:
    """In how many of the user's messages the term stands."""
    row = connection.execute(
        "SELECT doc FROM keyword_counts WHERE term = ?", (f"{user_id}:{term}",)
    ).fetchone()
    return row[0] if row else 0


def postings(connection: sqlite3.Connection, user_id: int, term: str) -> Postings:
    """All places of a term in the user's messages."""
    rows = connection.execute(
        "SELECT doc FROM keyword_places WHERE term = ?", (f"{user_id}:{term}",)
    ).fetchall()
    documents = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
    ids, counts = np.unique(documents, return_counts=True)
    return Postings(term, ids, counts)


def rarest(connection: sqlite3.Connection, user_id: int, terms: Iterable[str], budget: int) -> list[Postings]:
    """Postings of the rarest of these terms, until they hold `budget` places together.

    Common words cost most and say least; the first term is always read.
    """
    by_frequency = sorted(
        (found, term) for term in dict.fromkeys(terms) if (found := frequency(connection, user_id, term))
    )
    chosen: list[Postings] = []
    spent = 0
    for found, term in by_frequency:
        if chosen and spent + found > budget:
            break
        chosen.append(postings(connection, user_id, term))
        spent += found
    return chosen


def lengths(connection: sqlite3.Connection, user_id: int, message_ids: Int64) -> Int64:
    """Terms in each of these messages, in the order given; 0 for one that is not there."""
    found: dict[int, int] = {}
    ids = message_ids.tolist()
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ", ".join("?" * len(part))
        found.update(
            connection.execute(
                f"SELECT message_id, length FROM keywords WHERE user_id = ? AND message_id IN ({marks})",
                (user_id, *part),
            ).fetchall()
        )
    return np.fromiter((found.get(message_id, 0) for message_id in ids), dtype=np.int64, count=len(ids))


def totals(connection: sqlite3.Connection, user_id: int) -> tuple[int, float]:
    """Number of the user's messages and their mean length in terms."""
    row = connection.execute(
        "SELECT coalesce(sum(message_count), 0), coalesce(sum(term_count), 0) FROM sessions WHERE user_id = ?",
        (user_id,),
    ).fetchone()
    return int(row[0]), row[1] / row[0] if row[0] else 0.0
