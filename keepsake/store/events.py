"""Rows of `events`: what each answer cost and was given (K8). Steps inside a transaction of `Database`."""

from __future__ import annotations

import json
import sqlite3

from keepsake.models import AnswerEvent, ItemKind


def last_memories(connection: sqlite3.Connection, user_id: int) -> list[tuple[ItemKind, int, float]] | None:
    """Kind, id and score of what the user's last answer was given; None where there was none."""
    row = connection.execute(
        "SELECT memories FROM events WHERE user_id = ? AND answer_id IS NOT NULL ORDER BY id DESC LIMIT 1",
        (user_id,),
    ).fetchone()
    return [(kind, item, score) for kind, item, score in json.loads(row[0])] if row else None


def insert(connection: sqlite3.Connection, event: AnswerEvent, now: int) -> int:
    """Stores an event; `now` in microseconds."""
    row = connection.execute(
        "INSERT INTO events (user_id, question_id, answer_id, model, prompt_tokens, completion_tokens,"
        " latency_ms, error, memories, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event.user_id,
            event.question_id,
            event.answer_id,
            event.model,
            event.prompt_tokens,
            event.completion_tokens,
            event.latency_ms,
            event.error,
            json.dumps(event.memories),
            now,
        ),
    ).lastrowid
    assert row is not None
    return row
