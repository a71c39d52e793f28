"""Rows of `jobs`: the one durable queue. Every function is a step inside a transaction of `Database`.

A job is `waiting` until its time comes (or comes again: one that was put in later than now is due, since the clock has
jumped back), `running` while somebody works on it, and gone when it is done; only
jobs that somebody waits for stay as `done` or `failed` with their result.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from keepsake.models import Job

EMBED, CHROMA, UNINDEX = "embed", "chroma", "unindex"
EXTRACT, IDLE, EXPIRE, SUMMARISE = "extract", "idle", "expire", "summarise"
REREAD = "reread"
# The hourly look whose facts want to be consolidated, that by itself, and on somebody's word.
DREAM_CHECK, DREAM, CONSOLIDATE = "dream_check", "dream", "consolidate"


@dataclass(frozen=True, slots=True)
class Told:
    """A job whose result is told to whom `to` names, in the words of whoever queued it."""

    job_id: int
    state: str
    to: dict[str, Any]
    result: dict[str, Any]


def enqueue(
    connection: sqlite3.Connection,
    kind: str,
    key: str,
    now: int,
    *,
    user_id: int | None = None,
    payload: dict[str, object] | None = None,
    run_after: int | None = None,
) -> int | None:
    """Adds a job; None where the same work is waiting already. Times in microseconds."""
    row = connection.execute(
        "INSERT INTO jobs (kind, user_id, key, payload, run_after, created_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING RETURNING id",
        (kind, user_id, key, json.dumps(payload or {}), run_after if run_after is not None else now, now),
    ).fetchone()
    return int(row[0]) if row else None


def put_off(
    connection: sqlite3.Connection, kind: str, key: str, now: int, *, user_id: int | None, run_after: int
) -> None:
    """Adds a job for later; where the same work is waiting already, it waits until then, too."""
    connection.execute(
        "INSERT INTO jobs (kind, user_id, key, run_after, created_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (kind, key) WHERE state = 'waiting' DO UPDATE SET run_after = excluded.run_after",
        (kind, user_id, key, run_after, now),
    )


def claim(connection: sqlite3.Connection, kind: str, now: int) -> Job | None:
    """Takes the oldest due job of that kind, skipping users that have one of this kind running or are being erased."""
    row = connection.execute(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1 WHERE id = ("
        " SELECT id FROM jobs AS waiting WHERE state = 'waiting' AND kind = ?1 AND (run_after <= ?2 OR created_at > ?2)"
        " AND NOT EXISTS (SELECT 1 FROM jobs AS busy WHERE busy.state = 'running'"
        "  AND (busy.kind = waiting.kind AND busy.key = waiting.key"
        "   OR busy.kind = 'erase' AND busy.user_id = waiting.user_id))"
        " ORDER BY run_after, id LIMIT 1)"
        " RETURNING id, kind, user_id, payload, attempts",
        (kind, now),
    ).fetchone()
    return Job(row[0], row[1], row[2], json.loads(row[3]), row[4]) if row else None


def users_waiting(connection: sqlite3.Connection, kind: str) -> list[int]:
    """Whose jobs of that kind wait, due or not."""
    rows = connection.execute(
        "SELECT DISTINCT user_id FROM jobs WHERE kind = ? AND user_id IS NOT NULL", (kind,)
    )
    return [row[0] for row in rows]


def drop(connection: sqlite3.Connection, kind: str) -> None:
    """Takes all jobs of that kind off the queue: what they are for is done."""
    connection.execute("DELETE FROM jobs WHERE kind = ?", (kind,))


def finish(connection: sqlite3.Connection, job_id: int) -> None:
    """Done, and nobody asks how."""
    connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))


def finish_with(connection: sqlite3.Connection, job_id: int, state: str, result: dict[str, object]) -> None:
    """Done (`done`) or given up (`failed`), with a result that somebody waits for."""
    connection.execute(
        "UPDATE jobs SET state = ?, result = ? WHERE id = ?", (state, json.dumps(result), job_id)
    )


def postpone(connection: sqlite3.Connection, job_id: int, run_after: int) -> None:
    """Back to waiting. Where the same work was enqueued meanwhile, that job inherits the delay and attempts."""
    row = connection.execute(
        "SELECT twin.id, job.attempts FROM jobs AS job JOIN jobs AS twin"
        " ON twin.kind = job.kind AND twin.key = job.key AND twin.state = 'waiting' WHERE job.id = ?",
        (job_id,),
    ).fetchone()
    if row:
        connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))
        connection.execute(
            "UPDATE jobs SET run_after = ?, attempts = ? WHERE id = ?", (run_after, row[1], row[0])
        )
    else:
        connection.execute(
            "UPDATE jobs SET state = 'waiting', run_after = ? WHERE id = ?", (run_after, job_id)
        )


def hurry(connection: sqlite3.Connection, kind: str, now: int) -> None:
    """Jobs of that kind that were put off are due now: what they waited for is there."""
    connection.execute(
        "UPDATE jobs SET run_after = ? WHERE state = 'waiting' AND kind = ? AND run_after > ?",
        (now, kind, now),
    )


def requeue_running(connection: sqlite3.Connection, now: int) -> None:
    """At start: what a killed process was working on waits again."""
    for (job_id,) in connection.execute("SELECT id FROM jobs WHERE state = 'running'").fetchall():
        postpone(connection, job_id, now)


def drop_results_before(connection: sqlite3.Connection, moment: int) -> None:
    """Results that nobody fetched do not pile up."""
    connection.execute("DELETE FROM jobs WHERE state IN ('done', 'failed') AND created_at < ?", (moment,))


def pending(connection: sqlite3.Connection, kinds: Collection[str], now: int) -> bool:
    """Is work of these kinds running, or due?"""
    marks = ", ".join("?" * len(kinds))
    row = connection.execute(
        f"SELECT 1 FROM jobs WHERE kind IN ({marks})"
        " AND (state = 'running' OR (state = 'waiting' AND (run_after <= ? OR created_at > ?))) LIMIT 1",
        (*kinds, now, now),
    ).fetchone()
    return row is not None


def due_kinds(connection: sqlite3.Connection, kinds: Collection[str], now: int) -> list[str]:
    """Those of these kinds that have a job whose time has come."""
    marks = ", ".join("?" * len(kinds))
    rows = connection.execute(
        f"SELECT DISTINCT kind FROM jobs WHERE state = 'waiting' AND kind IN ({marks})"
        " AND (run_after <= ? OR created_at > ?)",
        (*kinds, now, now),
    )
    return [row[0] for row in rows]


def told_later(connection: sqlite3.Connection, kind: str) -> list[Told]:
    """Jobs of this kind whose result is to be told to somebody, done or not."""
    rows = connection.execute(
        "SELECT id, state, json_extract(payload, '$.told'), result FROM jobs"
        " WHERE kind = ? AND json_extract(payload, '$.told') IS NOT NULL ORDER BY id",
        (kind,),
    )
    return [Told(row[0], row[1], json.loads(row[2]), json.loads(row[3] or "{}")) for row in rows]


def result(connection: sqlite3.Connection, job_id: int) -> tuple[str, dict[str, object]] | None:
    """State and result of a job, None once it is gone."""
    row = connection.execute("SELECT state, result FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return (row[0], json.loads(row[1]) if row[1] else {}) if row else None
