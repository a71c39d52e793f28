"""Rows of people for the tests of forgetting, put in through the store's own functions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from keepsake.clock import to_micros
from keepsake.models import AnswerEvent, FactDraft, Spent, TopicNote
from keepsake.store import (
    embeddings,
    events,
    facts,
    inbox,
    jobs,
    messages,
    outbox,
    tombstones,
    topics,
    usage,
    users,
)
from keepsake.store.inbox import Arrived
from keepsake.store.outbox import Address

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MODEL = "test-model"
GAP = 30 * 60 * 1_000_000


def fill(connection: sqlite3.Connection, user_id: int, texts: Sequence[str]) -> None:
    """Messages with keywords, vectors and keys, a fact, an event, tokens, a summary, a job and Telegram mail."""
    now = to_micros(NOW)
    users.ensure(connection, user_id, now)
    for text in texts:
        message = messages.insert(
            connection,
            messages.NewMessage(user_id, "user", text, NOW, key=uuid4().hex),
            text.lower().split(),
            GAP,
        )
        vector = np.random.default_rng(message.id).standard_normal(384).astype(np.float32)
        vector /= np.linalg.norm(vector)
        embeddings.store(connection, user_id, MODEL, [("message", message.id, vector)])
    connection.execute("INSERT OR IGNORE INTO speakers VALUES (?, ?)", (user_id, f"Speaker of {texts[0]}"))
    draft = FactDraft(f"Fact about {texts[-1]}", (message.id,), quote=texts[-1])
    facts.insert(connection, user_id, draft, now)
    embeddings.queue(connection, user_id, "message", message.id)
    events.insert(connection, AnswerEvent(user_id, message.id, None, "model", 12), now)
    usage.add(connection, user_id, NOW.date(), Spent("model", 12, 3))
    jobs.enqueue(connection, "embed", str(user_id), now, user_id=user_id)
    update = user_id * 10_000 + message.id
    inbox.put(connection, [Arrived(update, user_id, None, user_id, f'{{"text": "{texts[-1]}"}}')], now)
    letter = [("answer:0", f"About {texts[0]}")]
    outbox.put(connection, Address(update, user_id, user_id), letter, now, message_id=message.id)
    connection.execute(
        "INSERT INTO summaries (user_id, first_id, last_id, said_at, content) VALUES (?, ?, ?, ?, ?)",
        (user_id, message.id, message.id, now, f"They spoke of {texts[-1]}"),
    )
    tombstones.add(connection, user_id, {"claim": [bytes(range(16))]}, [message.id], now)
    named = TopicNote("what-was-said", f"Said: {texts[0]}", f"They said {texts[-1]}")
    topics.note(connection, user_id, named, made_by="dream", now=now)
    connection.execute("INSERT OR IGNORE INTO dreams (user_id, report) VALUES (?, ?)", (user_id, "{}"))
    connection.execute("UPDATE sessions SET summary = ? WHERE user_id = ?", (f"Spoke of {texts[0]}", user_id))
