"""What cleaning does to rows of `facts`. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3

from keepsake.clock import from_micros
from keepsake.models import Fact, FactChange
from keepsake.store import embeddings, facts, history, users


def all_facts(connection: sqlite3.Connection) -> list[Fact]:
    """Everybody's facts of whatever status, a person's after the other's."""
    return [
        fact
        for user_id in users.all_ids(connection)
        for fact in facts.of_user(connection, user_id, all_statuses=True)
    ]


def remove(connection: sqlite3.Connection, fact: Fact) -> None:
    """Takes a fact away with its vector, its history and what it comes from; the messages stay."""
    _take_vector(connection, fact)
    connection.execute("DELETE FROM fact_sources WHERE fact_id = ?", (fact.id,))
    connection.execute("DELETE FROM facts WHERE id = ?", (fact.id,))


def expire(connection: sqlite3.Connection, fact: Fact, now: int) -> None:
    """Keeps a fact as one that holds no more; it is not recalled. `now` in microseconds."""
    _take_vector(connection, fact)
    facts.close(connection, fact.user_id, fact.id, "expired", now)
    moment = from_micros(now)
    change = FactChange(
        fact.id, "expired", "prune", None, fact.content, None, fact.valid_until or moment, moment
    )
    history.add(connection, fact.user_id, change)


def _take_vector(connection: sqlite3.Connection, fact: Fact) -> None:
    embeddings.delete_one(connection, fact.user_id, "fact", fact.id)
    connection.execute(
        "DELETE FROM vector_queue WHERE user_id = ? AND kind = 'fact' AND item_id = ?",
        (fact.user_id, fact.id),
    )
