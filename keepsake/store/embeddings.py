"""Rows of `embeddings`: the vectors themselves. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepsake.models import ItemKind

Vector = NDArray[np.float32]
ItemKey = tuple[ItemKind, int]

_VARIABLES_MAX = 500  # ids in one statement, well under SQLite's limit


def queue(connection: sqlite3.Connection, user_id: int, kind: ItemKind, item_id: int) -> None:
    """Notes that a message or fact wants a vector."""
    connection.execute(
        "INSERT INTO vector_queue (user_id, kind, item_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (user_id, kind, item_id),
    )


def queue_all(connection: sqlite3.Connection, model: str, user_id: int | None = None) -> None:
    """Notes every message and active fact, of one user or all, that has no vector of `model`."""
    connection.execute(
        """
        INSERT INTO vector_queue (user_id, kind, item_id)
        SELECT user_id, kind, id FROM (
            SELECT user_id, 'message' AS kind, id FROM messages
            UNION ALL
            SELECT user_id, 'fact', id FROM facts WHERE status = 'active') AS item
        WHERE (:user IS NULL OR user_id = :user) AND NOT EXISTS (
            SELECT 1 FROM embeddings AS e WHERE e.user_id = item.user_id
            AND e.kind = item.kind AND e.item_id = item.id AND e.model = :model)
        ON CONFLICT DO NOTHING""",
        {"user": user_id, "model": model},
    )


def queued(connection: sqlite3.Connection, user_id: int, limit: int) -> list[tuple[ItemKind, int, str]]:
    """Kind, id and text of the next items that want a vector. What is gone meanwhile has an empty text."""
    return connection.execute(
        "SELECT q.kind, q.item_id, coalesce(m.content, f.content, '') FROM vector_queue AS q"
        " LEFT JOIN messages AS m ON q.kind = 'message' AND m.id = q.item_id"
        " LEFT JOIN facts AS f ON q.kind = 'fact' AND f.id = q.item_id"
        " WHERE q.user_id = ? LIMIT ?",
        (user_id, limit),
    ).fetchall()


def users_queued(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT DISTINCT user_id FROM vector_queue")]


def store(
    connection: sqlite3.Connection,
    user_id: int,
    model: str,
    rows: Iterable[tuple[ItemKind, int, Vector]],
    texts: Sequence[str] | None = None,
) -> list[ItemKey]:
    """Writes vectors, each only where its message or active fact still stands. Returns those that were written.

    `texts`: what they were made of; where an item has another text by now, it stays queued.
    """
    written: list[ItemKey] = []
    for place, (kind, item_id, vector) in enumerate(rows):
        if texts is not None and _text(connection, kind, item_id) not in (None, texts[place]):
            continue
        connection.execute(
            "DELETE FROM vector_queue WHERE user_id = ? AND kind = ? AND item_id = ?",
            (user_id, kind, item_id),
        )
        there = "messages WHERE" if kind == "message" else "facts WHERE status = 'active' AND"
        changed = connection.execute(
            "INSERT INTO embeddings (user_id, kind, item_id, model, vector)"
            f" SELECT user_id, ?, id, ?, ? FROM {there} id = ? AND user_id = ?"
            " ON CONFLICT (user_id, kind, item_id) DO UPDATE"
            " SET model = excluded.model, vector = excluded.vector, in_chroma = 0",
            (kind, model, vector.astype("<f4", copy=False).tobytes(), item_id, user_id),
        ).rowcount
        if changed:
            written.append((kind, item_id))
    return written


def _text(connection: sqlite3.Connection, kind: ItemKind, item_id: int) -> str | None:
    table = "messages" if kind == "message" else "facts"
    row = connection.execute(f"SELECT content FROM {table} WHERE id = ?", (item_id,)).fetchone()
    return row[0] if row else None


def load(
    connection: sqlite3.Connection,
    user_id: int,
    model: str,
    *,
    only_pending: bool = False,
    limit: int = -1,
) -> tuple[list[ItemKey], Vector]:
    """Keys and vectors (n, dimension) of a user, oldest first; `only_pending`: those that Chroma does not hold yet.

    `limit`: at most so many; -1 for all.
    """
    condition = " AND in_chroma = 0" if only_pending else ""
    rows = connection.execute(
        f"SELECT kind, item_id, vector FROM embeddings WHERE user_id = ? AND model = ?{condition}"
        " ORDER BY id LIMIT ?",
        (user_id, model, limit),
    ).fetchall()
    return [(row[0], row[1]) for row in rows], _matrix([row[2] for row in rows])


def load_some(
    connection: sqlite3.Connection, user_id: int, model: str, keys: Sequence[ItemKey]
) -> tuple[list[ItemKey], Vector]:
    """Keys and vectors (n, dimension) of these messages and facts, as far as there are any."""
    rows: list[tuple[ItemKind, int, bytes]] = []
    for kind in ("message", "fact"):
        ids = [item_id for of, item_id in keys if of == kind]
        for start in range(0, len(ids), _VARIABLES_MAX):
            part = ids[start : start + _VARIABLES_MAX]
            marks = ", ".join("?" * len(part))
            rows += connection.execute(
                "SELECT kind, item_id, vector FROM embeddings"
                f" WHERE user_id = ? AND kind = ? AND item_id IN ({marks}) AND model = ?",
                (user_id, kind, *part, model),
            )
    return [(row[0], row[1]) for row in rows], _matrix([row[2] for row in rows])


def mark_in_chroma(connection: sqlite3.Connection, user_id: int, keys: Sequence[ItemKey]) -> None:
    connection.executemany(
        "UPDATE embeddings SET in_chroma = 1 WHERE user_id = ? AND kind = ? AND item_id = ?",
        [(user_id, kind, item_id) for kind, item_id in keys],
    )


def forget_chroma(connection: sqlite3.Connection, user_id: int | None = None) -> list[int]:
    """Chroma has lost its vectors, of one user or all: they wait to be handed over again. Returns whose."""
    condition, values = ("", ()) if user_id is None else (" AND user_id = ?", (user_id,))
    users = [
        row[0]
        for row in connection.execute(f"SELECT DISTINCT user_id FROM embeddings WHERE 1{condition}", values)
    ]
    connection.execute(f"UPDATE embeddings SET in_chroma = 0 WHERE in_chroma = 1{condition}", values)
    return users


def users_pending_for_chroma(connection: sqlite3.Connection) -> list[int]:
    return [
        row[0] for row in connection.execute("SELECT DISTINCT user_id FROM embeddings WHERE in_chroma = 0")
    ]


def delete(connection: sqlite3.Connection, user_id: int) -> None:
    """Takes away a user's vectors, so that they are made anew."""
    connection.execute("DELETE FROM embeddings WHERE user_id = ?", (user_id,))


def delete_one(connection: sqlite3.Connection, user_id: int, kind: ItemKind, item_id: int) -> bool:
    """Takes away an item's vector, and the wish for one. Was there a vector?"""
    of_item, values = "user_id = ? AND kind = ? AND item_id = ?", (user_id, kind, item_id)
    connection.execute(f"DELETE FROM vector_queue WHERE {of_item}", values)
    return connection.execute(f"DELETE FROM embeddings WHERE {of_item}", values).rowcount > 0


def count(connection: sqlite3.Connection, user_id: int, model: str | None = None) -> int:
    """Vectors held for the user; with `model`, only those it made."""
    row = connection.execute(
        "SELECT count(*) FROM embeddings WHERE user_id = ? AND (?2 IS NULL OR model = ?2)", (user_id, model)
    ).fetchone()
    return int(row[0])


def count_up_to(connection: sqlite3.Connection, user_id: int, limit: int) -> int:
    """Vectors of the user by whatever model, counted no further than `limit`. Reads an index only."""
    row = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM embeddings WHERE user_id = ? LIMIT ?)", (user_id, limit)
    ).fetchone()
    return int(row[0])


def _matrix(blobs: list[Any]) -> Vector:
    if not blobs:
        return np.empty((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1)
