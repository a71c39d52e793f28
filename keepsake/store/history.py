"""Rows of `fact_history`: what happened to each fact. Steps inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from keepsake.clock import from_micros, to_micros
from keepsake.models import FactChange

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


def of_user(connection: sqlite3.Connection, user_id: int) -> list[FactChange]:
    """All changes of the user's facts, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM fact_history WHERE user_id = ? ORDER BY id", (user_id,)
    )
    return [
        FactChange(row[0], row[1], row[2], row[3], row[4], row[5], from_micros(row[6]), from_micros(row[7]))
        for row in rows
    ]
