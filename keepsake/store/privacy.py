"""Rows of `privacy`: who has asked that nothing is kept. Steps inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from keepsake.store import users


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person has asked for. Both may be: a conversation incognito inside a pause."""

    paused: bool = False
    incognito: bool = False


def read(connection: sqlite3.Connection) -> dict[int, Asked]:
    """Everybody who has ever asked, with what they ask for now."""
    rows = connection.execute(
        "SELECT user_id, paused_at IS NOT NULL, incognito_at IS NOT NULL FROM privacy"
    ).fetchall()
    return {row[0]: Asked(bool(row[1]), bool(row[2])) for row in rows}


def write(connection: sqlite3.Connection, user_id: int, asked: Asked, now: int) -> None:
    """Notes what a person asks for from now on, in microseconds."""
    users.ensure(connection, user_id, now)
    connection.execute(
        "INSERT INTO privacy (user_id, paused_at, incognito_at) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (user_id) DO UPDATE SET"
        " paused_at = CASE WHEN ?2 IS NULL THEN NULL ELSE coalesce(paused_at, ?2) END,"
        " incognito_at = CASE WHEN ?3 IS NULL THEN NULL ELSE coalesce(incognito_at, ?3) END",
        (user_id, now if asked.paused else None, now if asked.incognito else None),
    )
