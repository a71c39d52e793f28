"""Rows of `models`: what was learned of each chat model. Steps inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from keepsake.clock import to_micros
from keepsake.models import LearnedModel
from keepsake.store.times import time_of

_COLUMNS = "name, factor, answers, context_limit, limited_at"


def get(connection: sqlite3.Connection, name: str) -> LearnedModel:
    """What is known of a model; nothing yet for a new one."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM models WHERE name = ?", (name,)).fetchone()
    if row is None:
        return LearnedModel(name)
    name, factor, answers, limit, limited_at = row
    return LearnedModel(
        name, factor, answers, limit, time_of(limited_at, "models", name) if limited_at is not None else None
    )


def last_used(connection: sqlite3.Connection) -> str | None:
    """The name of the model that something was learned of last."""
    row = connection.execute("SELECT name FROM models ORDER BY updated_at DESC LIMIT 1").fetchone()
    return row[0] if row else None


def change(
    connection: sqlite3.Connection, name: str, step: Callable[[LearnedModel], LearnedModel], now: int
) -> LearnedModel:
    """Reads, changes and stores what is known of a model. `now` in microseconds."""
    known = step(get(connection, name))
    limited_at = to_micros(known.limited_at) if known.limited_at is not None else None
    connection.execute(
        f"INSERT INTO models ({_COLUMNS}, updated_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE"
        " SET factor = excluded.factor, answers = excluded.answers, context_limit = excluded.context_limit,"
        " limited_at = excluded.limited_at, updated_at = excluded.updated_at",
        (known.name, known.factor, known.answers, known.limit, limited_at, now),
    )
    return known
