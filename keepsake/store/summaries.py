"""Rows of `summaries`. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from keepsake.clock import from_micros
from keepsake.models import Message, Summary
from keepsake.store import jobs, messages


@dataclass(frozen=True, slots=True)
class Compaction:
    """When older messages become summaries: `size` of them at a time, of the newest runs `kept` at most.

    A run is due once `size` messages are older than the `in_full` and `condensed` ones of the context, or as soon as
    those after the last run have more than `characters`.
    """

    size: int = 40
    kept: int = 5
    in_full: int = 5
    condensed: int = 15
    characters: int = 6000


class Run(NamedTuple):
    """A run of messages that waits for its summary."""

    id: int
    first_id: int
    last_id: int
    revision: int


def plan(connection: sqlite3.Connection, user_id: int, rules: Compaction) -> bool:
    """Adds the runs that are due. Returns whether there are any."""
    if rules.kept == 0:
        return False
    row = connection.execute(
        "SELECT last_id FROM summaries WHERE user_id = ? ORDER BY first_id DESC LIMIT 1", (user_id,)
    ).fetchone()
    after = row[0] if row else 0
    # Of a long past that was never compacted only the newest runs are worth their cost.
    most = rules.in_full + rules.condensed + rules.size * (rules.kept + 1) - 1
    found = connection.execute(
        "SELECT id FROM messages WHERE user_id = ? AND id > ? ORDER BY id DESC LIMIT ?",
        (user_id, after, most),
    ).fetchall()
    older = [row[0] for row in found[rules.in_full :]][::-1]
    if len(older) < rules.size:
        return False
    if len(older) - rules.condensed < rules.size and not _outgrown(connection, user_id, after, rules):
        return False
    runs = max(1, (len(older) - rules.condensed) // rules.size)
    if len(found) == most:
        older = older[len(older) - rules.condensed - runs * rules.size :]
    for start in range(0, runs * rules.size, rules.size):
        first, last = older[start], older[start + rules.size - 1]
        connection.execute(
            "INSERT INTO summaries (user_id, first_id, last_id, said_at)"
            " SELECT user_id, ?, id, created_at FROM messages WHERE id = ?",
            (first, last),
        )
    return True


def _outgrown(connection: sqlite3.Connection, user_id: int, after: int, rules: Compaction) -> bool:
    row = connection.execute(
        "SELECT sum(length(content)) FROM messages WHERE user_id = ? AND id > ?", (user_id, after)
    ).fetchone()
    return bool(row[0] > rules.characters)


def newest(
    connection: sqlite3.Connection, user_id: int, limit: int, before: int | None = None
) -> list[Summary]:
    """The newest `limit` summaries, oldest first; with `before`, only of messages with smaller ids."""
    rows = connection.execute(
        "SELECT id, first_id, last_id, said_at, content, model, prompt_version FROM summaries"
        " WHERE user_id = ? AND content <> '' AND last_id < ? ORDER BY first_id DESC LIMIT ?",
        (user_id, before if before is not None else 2**63 - 1, limit),
    ).fetchall()
    return [Summary(row[0], row[1], row[2], from_micros(row[3]), *row[4:]) for row in reversed(rows)]


def waiting(connection: sqlite3.Connection, user_id: int, kept: int) -> Run | None:
    """The newest run without a summary, of the newest `kept` ones."""
    row = connection.execute(
        "SELECT id, first_id, last_id, revision FROM (SELECT * FROM summaries WHERE user_id = ?"
        " ORDER BY first_id DESC LIMIT ?) WHERE content IS NULL ORDER BY first_id DESC LIMIT 1",
        (user_id, kept),
    ).fetchone()
    return Run(*row) if row else None


def unmake(connection: sqlite3.Connection, user_id: int, message_ids: Iterable[int], now: int) -> None:
    """What summaries say of these messages goes, and is made anew."""
    changed = sum(
        connection.execute(
            "UPDATE summaries SET content = NULL, revision = revision + 1"
            " WHERE user_id = ?1 AND first_id <= ?2 AND last_id >= ?2",
            (user_id, one),
        ).rowcount
        for one in message_ids
    )
    if changed:
        jobs.enqueue(connection, jobs.SUMMARISE, str(user_id), now, user_id=user_id)


def messages_of(connection: sqlite3.Connection, user_id: int, run: Run) -> list[Message]:
    """The messages of a run that are still there, oldest first."""
    return messages.between(connection, user_id, run.first_id, run.last_id)


def fill(
    connection: sqlite3.Connection,
    run: Run,
    content: str,
    now: int,
    *,
    model: str | None,
    prompt_version: str | None,
) -> bool:
    """Stores a summary; False, and nothing, where one of its messages has changed meanwhile."""
    changed = connection.execute(
        "UPDATE summaries SET content = ?, model = ?, prompt_version = ?, made_at = ?"
        " WHERE id = ? AND revision = ? AND content IS NULL",
        (content, model, prompt_version, now, run.id, run.revision),
    )
    return changed.rowcount == 1


def drop(connection: sqlite3.Connection, run: Run) -> None:
    """Takes away a run whose messages are all gone."""
    connection.execute("DELETE FROM summaries WHERE id = ?", (run.id,))
