"""Rows of `tombstones`: what was forgotten, as keyed hashes. Steps inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

MarkKind = Literal["claim", "slot", "word"]


def add(
    connection: sqlite3.Connection,
    user_id: int,
    marks: Mapping[MarkKind, Iterable[bytes]],
    message_ids: Iterable[int],
    now: int,
) -> int:
    """Stores a tombstone; `message_ids`: the user's messages that tell what was forgotten."""
    made = connection.execute("INSERT INTO tombstones (user_id, made_at) VALUES (?, ?)", (user_id, now))
    tombstone = made.lastrowid
    assert tombstone is not None
    connection.executemany(
        "INSERT OR IGNORE INTO tombstone_marks (tombstone_id, kind, digest, user_id) VALUES (?, ?, ?, ?)",
        [(tombstone, kind, digest, user_id) for kind, digests in marks.items() for digest in digests],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO forgotten_sources (tombstone_id, message_id, user_id)"
        " SELECT ?, id, user_id FROM messages WHERE id = ? AND user_id = ?",
        [(tombstone, message_id, user_id) for message_id in message_ids],
    )
    return tombstone


def exist(connection: sqlite3.Connection, user_id: int) -> bool:
    """Has the user had anything forgotten?"""
    found = connection.execute("SELECT 1 FROM tombstones WHERE user_id = ? LIMIT 1", (user_id,))
    return found.fetchone() is not None


def marked(
    connection: sqlite3.Connection, user_id: int, kind: MarkKind, digests: Iterable[bytes]
) -> set[int]:
    """The user's tombstones that have one of these marks."""
    statement = "SELECT tombstone_id FROM tombstone_marks WHERE user_id = ? AND kind = ? AND digest = ?"
    return {row[0] for digest in digests for row in connection.execute(statement, (user_id, kind, digest))}


def word_sets(connection: sqlite3.Connection, user_id: int) -> list[set[bytes]]:
    """For each of the user's tombstones the words that a message which tells it has."""
    found: dict[int, set[bytes]] = defaultdict(set)
    rows = connection.execute(
        "SELECT tombstone_id, digest FROM tombstone_marks WHERE user_id = ? AND kind = 'word'", (user_id,)
    )
    for tombstone, digest in rows:
        found[tombstone].add(digest)
    return list(found.values())


def sources(connection: sqlite3.Connection, user_id: int, tombstone: int | None = None) -> set[int]:
    """The user's messages that tell something forgotten; with `tombstone`, what that one stands for."""
    rows = connection.execute(
        "SELECT message_id FROM forgotten_sources WHERE user_id = ?1 AND (?2 IS NULL OR tombstone_id = ?2)",
        (user_id, tombstone),
    )
    return {row[0] for row in rows}


def lift(connection: sqlite3.Connection, user_id: int, ids: Collection[int]) -> None:
    """It may be learned and told again."""
    connection.executemany(
        "DELETE FROM tombstones WHERE id = ? AND user_id = ?", [(one, user_id) for one in ids]
    )
