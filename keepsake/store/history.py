"""Rows of `fact_history`: what happened to each fact. Steps inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from keepsake.clock import to_micros
from keepsake.models import FactChange
from keepsake.store.times import time_of

_COLUMNS = "fact_id, what, made_by, other_id, from_value, to_value, valid_at, recorded_at"


def add(connection: sqlite3.Connection, user_id: int, change: FactChange) -> None:
    """Notes a change of one of the user's facts."""
    connection.execute(
        f"INSERT INTO fact_history (user_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user_id,
            change.fact_id,
            change.what,
            change.made_by,
            change.other_id,
            change.from_value,
            change.to_value,
            to_micros(change.valid_at),
            to_micros(change.recorded_at),
        ),
    )


def of_others(
    connection: sqlite3.Connection, user_id: int, fact_ids: Collection[int]
) -> list[tuple[int, int | None, dict[str, str | None]]]:
    """Changes of the user's other facts: row, the fact that did it, and what each value says."""
    rows = connection.execute(
        "SELECT id, fact_id, other_id, from_value, to_value FROM fact_history WHERE user_id = ?", (user_id,)
    )
    return [
        (row[0], row[2], {"from_value": row[3], "to_value": row[4]}) for row in rows if row[1] not in fact_ids
    ]


def newest(connection: sqlite3.Connection) -> int:
    """The number of the last change that was noted of anybody's facts."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM fact_history").fetchone()[0])


def of_user(connection: sqlite3.Connection, user_id: int, after: int = 0) -> list[FactChange]:
    """All changes of the user's facts, oldest first; with `after`, those that were noted after that one."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, id FROM fact_history WHERE user_id = ? AND id > ? ORDER BY id", (user_id, after)
    )
    return [
        FactChange(*row[:6], *(time_of(micros, "fact_history", row[8]) for micros in row[6:8]))
        for row in rows
    ]
