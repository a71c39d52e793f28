"""Rows of `topics`: what a model called them. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from keepsake.models import MadeBy, TopicNote


def of_user(connection: sqlite3.Connection, user_id: int) -> dict[str, TopicNote]:
    """The user's topics by slug."""
    rows = connection.execute("SELECT slug, title, hook FROM topics WHERE user_id = ?", (user_id,))
    return {row[0]: TopicNote(*row) for row in rows}


def note(
    connection: sqlite3.Connection, user_id: int, topic: TopicNote, *, made_by: MadeBy, now: int
) -> None:
    """Keeps a topic; a title or a hook that is missing leaves the one that is there. `now` in microseconds."""
    connection.execute(
        "INSERT INTO topics (user_id, slug, title, hook, made_by, made_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (user_id, slug) DO UPDATE SET title = coalesce(excluded.title, title),"
        " hook = coalesce(excluded.hook, hook), made_by = excluded.made_by, made_at = excluded.made_at",
        (user_id, topic.slug, topic.title, topic.hook, made_by, now),
    )


def assign(connection: sqlite3.Connection, user_id: int, slug: str, fact_ids: Iterable[int]) -> None:
    """Puts active facts into a topic."""
    connection.executemany(
        "UPDATE facts SET topic = ? WHERE id = ? AND user_id = ? AND status = 'active'",
        [(slug, one, user_id) for one in fact_ids],
    )


def dissolve(connection: sqlite3.Connection, user_id: int, slug: str) -> None:
    """Forgets what a topic is called; its facts stay, and belong to those that their predicates give."""
    connection.execute("DELETE FROM topics WHERE user_id = ? AND slug = ?", (user_id, slug))
    connection.execute("UPDATE facts SET topic = NULL WHERE user_id = ? AND topic = ?", (user_id, slug))


def drop_empty(connection: sqlite3.Connection, user_id: int) -> int:
    """Takes topics away that no active fact is in; how many they were."""
    return connection.execute(
        "DELETE FROM topics WHERE user_id = ?1 AND NOT EXISTS (SELECT 1 FROM facts"
        " WHERE facts.user_id = ?1 AND facts.topic = topics.slug AND facts.status = 'active')",
        (user_id,),
    ).rowcount
