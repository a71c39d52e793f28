"""Rows of `users` and `meta`. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import secrets
import sqlite3


def ensure(connection: sqlite3.Connection, user_id: int, now: int) -> None:
    """Makes the user's row where there is none. `now` in microseconds."""
    connection.execute(
        "INSERT INTO users (user_id, handle, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (user_id, f"u-{secrets.token_hex(12)}", now),
    )


def handle(connection: sqlite3.Connection, user_id: int) -> str | None:
    """The random name of the user's vector collection."""
    row = connection.execute("SELECT handle FROM users WHERE user_id = ?", (user_id,)).fetchone()
    return row[0] if row else None


def all_ids(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT user_id FROM users ORDER BY user_id")]


def language(connection: sqlite3.Connection, user_id: int) -> str | None:
    row = connection.execute("SELECT language FROM users WHERE user_id = ?", (user_id,)).fetchone()
    return row[0] if row else None


def set_language(connection: sqlite3.Connection, user_id: int, value: str, now: int) -> None:
    ensure(connection, user_id, now)
    connection.execute("UPDATE users SET language = ? WHERE user_id = ?", (value, user_id))


def get_meta(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )
