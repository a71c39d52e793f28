"""Rows of people for the tests of forgetting, put in through the store's own functions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from keepsake.clock import to_micros
from keepsake.models import AnswerEvent, FactDraft
from keepsake.store import embeddings, events, facts, jobs, messages, users

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MODEL = "test-model"
GAP = 30 * 60 * 1_000_000


def fill(connection: sqlite3.Connection, user_id: int, texts: Sequence[str]) -> None:
    """Messages with keywords and vectors, a fact, an event and a waiting job of a person."""
    now = to_micros(NOW)
    users.ensure(connection, user_id, now)
    for text in texts:
        message = messages.insert(
            connection, messages.NewMessage(user_id, "user", text, NOW), text.lower().split(), GAP
        )
        vector = np.random.default_rng(message.id).standard_normal(384).astype(np.float32)
        vector /= np.linalg.norm(vector)
        embeddings.store(connection, user_id, MODEL, [("message", message.id, vector)])
    draft = FactDraft(f"Fact about {texts[-1]}", (message.id,), quote=texts[-1])
    facts.insert(connection, user_id, draft, now)
    embeddings.queue(connection, user_id, "message", message.id)
    events.insert(connection, AnswerEvent(user_id, message.id, None, "model", 12), now)
    jobs.enqueue(connection, "embed", str(user_id), now, user_id=user_id)
    connection.execute("UPDATE sessions SET summary = ? WHERE user_id = ?", (f"Spoke of {texts[0]}", user_id))
