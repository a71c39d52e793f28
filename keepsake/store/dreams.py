"""Rows of `dreams`: how far consolidation has come with each person, and its lock. Steps inside a transaction.

The lock is held by a job, until a time. It counts only while that job is at work: one that was killed waits again, and
a job that does not come to its end loses it.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DreamState:
    """Where a person stands: times in microseconds, None where there is none.

    `read_to`: the last message that was read; `sessions`: how many there are since, the one of that message left out;
    `since`: when the last consolidation ended, else when the first session began; `last_at`: the newest message's time.
    """

    read_to: int
    sessions: int
    since: int | None
    last_at: int | None


def state(connection: sqlite3.Connection, user_id: int) -> DreamState:
    """How it stands with a person."""
    row = connection.execute(
        "SELECT read_to, session_id, ended_at FROM dreams WHERE user_id = ?", (user_id,)
    ).fetchone()
    read_to, session_id, ended_at = row or (0, 0, None)
    sessions, began, last = connection.execute(
        "SELECT count(*) FILTER (WHERE id > ?2 AND message_count > 0), min(started_at), max(last_at)"
        " FROM sessions WHERE user_id = ?1",
        (user_id, session_id),
    ).fetchone()
    return DreamState(read_to, sessions, began if ended_at is None else ended_at, last)


def take(connection: sqlite3.Connection, user_id: int, job_id: int, *, now: int, until: int) -> bool:
    """Takes the lock for a job; False where another one is at work. Times in microseconds."""
    connection.execute("INSERT INTO dreams (user_id) VALUES (?) ON CONFLICT DO NOTHING", (user_id,))
    changed = connection.execute(
        "UPDATE dreams SET held_by = ?2, held_until = ?3 WHERE user_id = ?1 AND (held_by IS NULL OR held_by = ?2"
        " OR held_until <= ?4 OR held_until > ?3"  # the clock has jumped back
        " OR NOT EXISTS (SELECT 1 FROM jobs WHERE id = held_by AND state = 'running'))",
        (user_id, job_id, until, now),
    ).rowcount
    return changed > 0


def holds(connection: sqlite3.Connection, user_id: int, job_id: int) -> bool:
    """Is the lock still this job's?"""
    row = connection.execute("SELECT held_by FROM dreams WHERE user_id = ?", (user_id,)).fetchone()
    return row is not None and row[0] == job_id


def release(connection: sqlite3.Connection, user_id: int, job_id: int) -> None:
    """Lets go of the lock; all else stays as it was."""
    connection.execute(
        "UPDATE dreams SET held_by = NULL, held_until = NULL WHERE user_id = ? AND held_by = ?",
        (user_id, job_id),
    )


def note_read(connection: sqlite3.Connection, user_id: int, read_to: int) -> None:
    """The messages up to this one have been read."""
    connection.execute(
        "UPDATE dreams SET read_to = max(read_to, ?2), session_id = max(session_id, coalesce("
        " (SELECT session_id FROM messages WHERE id = ?2 AND user_id = ?1), 0)) WHERE user_id = ?1",
        (user_id, read_to),
    )


def note_end(connection: sqlite3.Connection, user_id: int, report: dict[str, Any], now: int) -> None:
    """It ended well: the date moves. `report` has numbers and ids, no words."""
    connection.execute(
        "UPDATE dreams SET ended_at = ?, report = ? WHERE user_id = ?", (now, json.dumps(report), user_id)
    )


def last(connection: sqlite3.Connection, user_id: int) -> tuple[int, dict[str, Any]] | None:
    """When the last one ended (microseconds), and what it changed."""
    row = connection.execute(
        "SELECT ended_at, report FROM dreams WHERE user_id = ? AND ended_at IS NOT NULL", (user_id,)
    ).fetchone()
    return (row[0], json.loads(row[1] or "{}")) if row else None
