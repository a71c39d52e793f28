"""Reading the keyword index: where a user's terms stand. Steps inside a transaction of `Database`.

Each term in the index carries its owner's id, so every number read here counts that user's messages only (R8).
FTS5's own bm25() is not used: it would count everybody's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from keepsake.store.database import Database

Int64 = NDArray[np.int64]

_AT_ONCE = 500  # ids in one statement
_MERGED_PAGES = 500  # in one transaction


def unindex(connection: sqlite3.Connection, message_id: int) -> None:
    """Takes a message out of the index, before its row goes: a step inside a transaction."""
    # Of an index with external content FTS5 takes a row out only by the very words that it put in.
    connection.execute(
        "INSERT INTO keyword_index (keyword_index, rowid, terms)"
        " SELECT 'delete', message_id, terms FROM keywords WHERE message_id = ?",
        (message_id,),
    )


def frequency(connection: sqlite3.Connection, user_id: int, term: str) -> int:
    """In how many of the user's messages the term stands."""
    row = connection.execute(
        "SELECT doc FROM keyword_counts WHERE term = ?", (f"{user_id}:{term}",)
    ).fetchone()
    return row[0] if row else 0


def documents(connection: sqlite3.Connection, user_id: int, term: str, limit: int) -> Int64:
    """Ids of the user's messages in which the term stands, newest first, at most `limit`."""
    # One long text is made and read several times faster than so many rows.
    (joined,) = connection.execute(
        "SELECT group_concat(rowid) FROM (SELECT rowid FROM keyword_index WHERE keyword_index MATCH ?"
        " ORDER BY rowid DESC LIMIT ?)",
        (f'"{user_id}:{term}"', limit),
    ).fetchone()
    return np.fromstring(joined or "", dtype=np.int64, sep=",")


def with_all(connection: sqlite3.Connection, user_id: int, terms: Collection[str]) -> set[int]:
    """Ids of the user's messages in which all of these terms stand; of no terms, none."""
    if not terms:
        return set()
    query = " AND ".join(f'"{user_id}:{term}"' for term in terms)
    rows = connection.execute("SELECT rowid FROM keyword_index WHERE keyword_index MATCH ?", (query,))
    return {row[0] for row in rows}


def counts(
    connection: sqlite3.Connection, user_id: int, message_ids: Sequence[int], terms: Sequence[str]
) -> tuple[list[int], Int64, Int64]:
    """How often each term stands in each of these messages.

    Returns the ids that are there, ascending; their counts (messages, terms); and their lengths in terms (messages,).
    """
    columns = {f"{user_id}:{term}": column for column, term in enumerate(terms)}
    ids: list[int] = []
    rows: list[list[int]] = []
    lengths: list[int] = []
    wanted = sorted(message_ids)
    for start in range(0, len(wanted), _AT_ONCE):
        part = wanted[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(part))
        for message_id, text, length in connection.execute(
            "SELECT message_id, terms, length FROM keywords"
            f" WHERE user_id = ? AND message_id IN ({marks}) ORDER BY message_id",
            (user_id, *part),
        ):
            row = [0] * len(terms)
            for term in text.split(" "):
                if (column := columns.get(term)) is not None:
                    row[column] += 1
            ids.append(message_id)
            rows.append(row)
            lengths.append(length)
    shape = (len(ids), len(terms))
    return ids, np.array(rows, dtype=np.int64).reshape(shape), np.array(lengths, dtype=np.int64)


def totals(connection: sqlite3.Connection, user_id: int) -> tuple[int, float]:
    """Number of the user's messages and their mean length in terms."""
    row = connection.execute(
        "SELECT coalesce(sum(message_count), 0), coalesce(sum(term_count), 0) FROM sessions WHERE user_id = ?",
        (user_id,),
    ).fetchone()
    return int(row[0]), row[1] / row[0] if row[0] else 0.0


async def forget_deleted(database: Database) -> None:
    """Takes deleted words out of the index's older segments, where they stay until all are merged into one.

    In steps, so that others' writes come between them.
    """
    pages = -_MERGED_PAGES  # the first, negative call says that all segments are meant
    while await database.write(_merge, pages):
        pages = _MERGED_PAGES


def _merge(connection: sqlite3.Connection, pages: int) -> bool:
    before = connection.total_changes
    connection.execute("INSERT INTO keyword_index (keyword_index, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before > 1  # so FTS5 says that there was something to merge
