"""Rows of `usage`: tokens by user, day and model. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from datetime import date

from keepsake.models import Spent, TokenCounts


def add(connection: sqlite3.Connection, user_id: int, day: date, spent: Spent) -> None:
    """Counts a request; nothing where the user is not known (any more): who was erased is not brought back."""
    connection.execute(
        "INSERT INTO usage (user_id, day, model, requests, prompt_tokens, completion_tokens, estimated)"
        " SELECT user_id, ?, ?, 1, ?, ?, ? FROM users WHERE user_id = ?"
        " ON CONFLICT (user_id, day, model) DO UPDATE SET requests = requests + 1,"
        " prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
        " completion_tokens = completion_tokens + excluded.completion_tokens,"
        " estimated = estimated + excluded.estimated",
        (
            day.isoformat(),
            spent.model,
            spent.prompt_tokens,
            spent.completion_tokens,
            spent.estimated,
            user_id,
        ),
    )


def on_day(connection: sqlite3.Connection, user_id: int, day: date) -> int:
    """Tokens of a user on a day."""
    return counts(connection, day, user_id).day


def counts(connection: sqlite3.Connection, day: date, user_id: int | None = None) -> TokenCounts:
    """Tokens of a day and of its month up to it; of all users where none is named."""
    whose, values = ("", ()) if user_id is None else (" AND user_id = ?", (user_id,))
    row = connection.execute(
        "SELECT coalesce(sum(CASE day WHEN ? THEN prompt_tokens + completion_tokens END), 0),"
        " coalesce(sum(prompt_tokens + completion_tokens), 0), coalesce(sum(estimated), 0)"
        f" FROM usage WHERE day BETWEEN ? AND ?{whose}",
        (day.isoformat(), day.replace(day=1).isoformat(), day.isoformat(), *values),
    ).fetchone()
    return TokenCounts(*row)
