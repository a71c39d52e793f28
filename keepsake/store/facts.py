"""Rows of `facts` and `fact_sources`. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from keepsake.clock import from_micros, to_micros
from keepsake.models import Fact, FactDraft, FactStatus
from keepsake.store import embeddings, jobs

_COLUMNS = (
    "id, user_id, content, category, type, status, origin, importance, confidence, vital, hits, created_at,"
    " updated_at, recorded_from, subject, predicate, object, topic, last_hit_at, valid_from, valid_until,"
    " recorded_until, quote, model, prompt_version"
)
_SOURCES = "(SELECT group_concat(message_id) FROM fact_sources WHERE fact_id = facts.id)"


def insert(
    connection: sqlite3.Connection,
    user_id: int,
    draft: FactDraft,
    now: int,
    *,
    said_at: int | None = None,
    since: int | None = None,
    hits: int = 0,
    last_hit_at: int | None = None,
) -> int:
    """Stores a fact with its sources; those that are not the user's own messages are left out.

    Times in microseconds: `said_at`, when the user said it, default `now`; `since`, from when it holds, default then.
    """
    said_at = now if said_at is None else said_at
    values: dict[str, object] = {
        "user_id": user_id,
        "content": draft.content,
        "category": draft.category,
        "type": draft.type,
        "origin": draft.origin,
        "importance": draft.importance,
        "confidence": draft.confidence,
        "vital": int(draft.vital),
        "hits": hits,
        "last_hit_at": last_hit_at,
        "subject": draft.subject,
        "predicate": draft.predicate,
        "object": draft.object,
        "topic": draft.topic,
        "created_at": said_at if since is None else min(said_at, since),
        "updated_at": said_at,
        "valid_from": said_at if since is None else since,
        "valid_until": to_micros(draft.valid_until) if draft.valid_until else None,
        "recorded_from": now,
        "quote": draft.quote,
        "model": draft.model,
        "prompt_version": draft.prompt_version,
    }
    marks = ", ".join(f":{name}" for name in values)
    fact_id = connection.execute(
        f"INSERT INTO facts ({', '.join(values)}) VALUES ({marks})", values
    ).lastrowid
    assert fact_id is not None
    add_sources(connection, user_id, fact_id, draft.message_ids)
    return fact_id


def close(
    connection: sqlite3.Connection,
    user_id: int,
    fact_id: int,
    status: FactStatus,
    now: int,
    until: int | None = None,
) -> None:
    """Takes a fact out of the active ones, and its vector away. `until`: from when it holds no longer, if known."""
    connection.execute(
        "UPDATE facts SET status = ?1, recorded_until = ?2, updated_at = max(updated_at, ?3),"
        " valid_until = CASE WHEN ?4 IS NULL THEN valid_until ELSE min(coalesce(valid_until, ?4), ?4) END"
        " WHERE id = ?5 AND user_id = ?6",
        (status, now, now, until, fact_id, user_id),
    )
    unindex(connection, user_id, fact_id, now)


def remove(connection: sqlite3.Connection, fact: Fact, now: int) -> None:
    """Takes a fact away with its vector, its history and what it comes from; the messages stay."""
    unindex(connection, fact.user_id, fact.id, now)
    connection.execute("DELETE FROM fact_sources WHERE fact_id = ?", (fact.id,))
    connection.execute("DELETE FROM facts WHERE id = ?", (fact.id,))


def unindex(connection: sqlite3.Connection, user_id: int, fact_id: int, now: int) -> None:
    """Takes a fact's vector away, from Chroma too."""
    if embeddings.delete_one(connection, user_id, "fact", fact_id):
        payload: dict[str, object] = {"facts": [fact_id]}
        jobs.enqueue(connection, jobs.UNINDEX, f"{user_id}:{fact_id}", now, user_id=user_id, payload=payload)


def said_at(connection: sqlite3.Connection, user_id: int, message_ids: Iterable[int]) -> int | None:
    """When the newest of these messages was said, None where none is the user's."""
    found = [
        row[0]
        for one in message_ids
        for row in connection.execute(
            "SELECT created_at FROM messages WHERE id = ? AND user_id = ?", (one, user_id)
        )
    ]
    return max(found, default=None)


def on_or_past_last_day(connection: sqlite3.Connection, now: int) -> list[Fact]:
    """Active facts of everybody whose last day has begun. `now` in microseconds."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, {_SOURCES} FROM facts WHERE status = 'active' AND valid_until <= ?", (now,)
    )
    return [_fact(row) for row in rows]


def add_sources(
    connection: sqlite3.Connection, user_id: int, fact_id: int, message_ids: Sequence[int]
) -> None:
    """Notes messages that a fact comes from, as far as they are the user's."""
    connection.executemany(
        "INSERT INTO fact_sources (fact_id, message_id, user_id)"
        " SELECT ?, id, user_id FROM messages WHERE id = ? AND user_id = ? ON CONFLICT DO NOTHING",
        [(fact_id, message_id, user_id) for message_id in message_ids],
    )


def of_user(connection: sqlite3.Connection, user_id: int, *, all_statuses: bool = False) -> list[Fact]:
    """The user's facts, oldest first; only active ones unless `all_statuses`."""
    condition = "" if all_statuses else " AND status = 'active'"
    rows = connection.execute(
        f"SELECT {_COLUMNS}, {_SOURCES} FROM facts WHERE user_id = ?{condition} ORDER BY id", (user_id,)
    )
    return [_fact(row) for row in rows]


def all_facts(connection: sqlite3.Connection) -> list[Fact]:
    """Everybody's facts of whatever status, a person's after the other's."""
    rows = connection.execute(f"SELECT {_COLUMNS}, {_SOURCES} FROM facts ORDER BY user_id, id")
    return [_fact(row) for row in rows]


def state(connection: sqlite3.Connection, user_id: int) -> tuple[int, int]:
    """Number and sum of the ids of the user's active facts: other facts, another state."""
    row = connection.execute(
        "SELECT count(*), coalesce(sum(id), 0) FROM facts WHERE user_id = ? AND status = 'active'", (user_id,)
    ).fetchone()
    return row[0], row[1]


def statements(
    connection: sqlite3.Connection, user_id: int
) -> list[tuple[int, str, str | None, str | None, str | None]]:
    """Of the user's active facts id, content, subject, predicate and object."""
    return connection.execute(
        "SELECT id, content, subject, predicate, object FROM facts WHERE user_id = ? AND status = 'active'",
        (user_id,),
    ).fetchall()


def by_ids(connection: sqlite3.Connection, user_id: int, ids: Iterable[int]) -> list[Fact]:
    """Those of the facts that are the user's, whatever their status."""
    statement = f"SELECT {_COLUMNS}, {_SOURCES} FROM facts WHERE id = ? AND user_id = ?"
    found = (connection.execute(statement, (one, user_id)).fetchone() for one in ids)
    return [_fact(row) for row in found if row]


def add_hits(connection: sqlite3.Connection, user_id: int, fact_ids: Iterable[int], now: int) -> None:
    """Counts that these facts were put into an answer (requirements.md, R2)."""
    connection.executemany(
        "UPDATE facts SET hits = hits + 1, last_hit_at = ? WHERE id = ? AND user_id = ?",
        [(now, fact_id, user_id) for fact_id in fact_ids],
    )


def cursor(connection: sqlite3.Connection, user_id: int) -> int:
    """The id of the last message that extraction has read."""
    row = connection.execute("SELECT fact_cursor FROM users WHERE user_id = ?", (user_id,)).fetchone()
    return row[0] if row else 0


def move_cursor(connection: sqlite3.Connection, user_id: int, message_id: int) -> None:
    connection.execute(
        "UPDATE users SET fact_cursor = max(fact_cursor, ?) WHERE user_id = ?", (message_id, user_id)
    )


def _fact(row: tuple[Any, ...]) -> Fact:
    def moment(value: int | None) -> Any:
        return from_micros(value) if value is not None else None

    return Fact(
        id=row[0],
        user_id=row[1],
        content=row[2],
        category=row[3],
        type=row[4],
        status=row[5],
        origin=row[6],
        importance=row[7],
        confidence=row[8],
        vital=bool(row[9]),
        hits=row[10],
        created_at=from_micros(row[11]),
        updated_at=from_micros(row[12]),
        recorded_from=from_micros(row[13]),
        subject=row[14],
        predicate=row[15],
        object=row[16],
        topic=row[17],
        last_hit_at=moment(row[18]),
        valid_from=moment(row[19]),
        valid_until=moment(row[20]),
        recorded_until=moment(row[21]),
        quote=row[22],
        model=row[23],
        prompt_version=row[24],
        message_ids=tuple(sorted(int(part) for part in row[25].split(","))) if row[25] else (),
    )
