"""What cleaning does to rows of `facts`. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3

from keepsake.models import Fact
from keepsake.store import embeddings, facts, users


def all_facts(connection: sqlite3.Connection) -> list[Fact]:
    """Everybody's facts of whatever status, a person's after the other's."""
    return [
        fact
        for user_id in users.all_ids(connection)
        for fact in facts.of_user(connection, user_id, all_statuses=True)
    ]


def remove(connection: sqlite3.Connection, fact: Fact) -> None:
    """Takes a fact away with its vector and what it comes from; the messages stay."""
    _take_vector(connection, fact)
    connection.execute("DELETE FROM fact_sources WHERE fact_id = ?", (fact.id,))
    connection.execute("DELETE FROM facts WHERE id = ?", (fact.id,))


def expire(connection: sqlite3.Connection, fact: Fact, now: int) -> None:
    """Keeps a fact as one that holds no more; it is not recalled. `now` in microseconds."""
    _take_vector(connection, fact)
    connection.execute(
        "UPDATE facts SET status = 'expired', updated_at = ?1, recorded_until = ?1 WHERE id = ?2",
        (now, fact.id),
    )


def _take_vector(connection: sqlite3.Connection, fact: Fact) -> None:
    embeddings.delete_one(connection, fact.user_id, "fact", fact.id)
    connection.execute(
        "DELETE FROM vector_queue WHERE user_id = ? AND kind = 'fact' AND item_id = ?",
        (fact.user_id, fact.id),
    )
