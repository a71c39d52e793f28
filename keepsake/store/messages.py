"""Rows of `sessions`, `messages` and `keywords`. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keepsake.clock import from_micros, to_micros
from keepsake.models import DialogSession, Message, Role
from keepsake.store import keywords
from keepsake.store.times import time_of

_COLUMNS = "id, user_id, role, content, created_at, session_id, sender, sender_id"
_VARIABLES_MAX = 500  # ids in one statement, well under SQLite's limit


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A checked message on its way in. `key`: a name that makes it be stored once, however often it comes."""

    user_id: int
    role: Role
    content: str
    created_at: datetime
    sender: str | None = None
    sender_id: str | None = None
    key: str | None = None


def insert(
    connection: sqlite3.Connection, new: NewMessage, terms: Sequence[str], session_gap_micros: int
) -> Message:
    """Stores a message with its keywords, in the open session or in a new one."""
    created = to_micros(new.created_at)
    session_id = _session_for(connection, new.user_id, created, len(terms), session_gap_micros)
    row = (new.user_id, session_id, new.role, new.content, new.sender, new.sender_id, created)
    message_id = connection.execute(
        "INSERT INTO messages (user_id, session_id, role, content, sender, sender_id, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        row,
    ).lastrowid
    assert message_id is not None
    insert_keywords(connection, message_id, new.user_id, terms)
    if new.sender is not None:
        connection.execute("INSERT OR IGNORE INTO speakers VALUES (?, ?)", (new.user_id, new.sender))
    if new.key is not None:
        connection.execute("INSERT INTO message_keys VALUES (?, ?, ?)", (new.user_id, new.key, message_id))
    return Message(
        message_id,
        new.user_id,
        new.role,
        new.content,
        from_micros(created),
        session_id,
        new.sender,
        new.sender_id,
    )


def by_key(connection: sqlite3.Connection, user_id: int, key: str) -> Message | None:
    """The user's message that was stored with this key."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE user_id = ?1"
        " AND id = (SELECT message_id FROM message_keys WHERE key = ?2 AND user_id = ?1)",
        (user_id, key),
    ).fetchone()
    return _message(row) if row else None


def replace_text(connection: sqlite3.Connection, old: Message, text: str, terms: Sequence[str]) -> None:
    """Gives a message another text, and the keyword index its words."""
    connection.execute("UPDATE messages SET content = ? WHERE id = ?", (text, old.id))
    (length,) = connection.execute("SELECT length FROM keywords WHERE message_id = ?", (old.id,)).fetchone()
    keywords.unindex(connection, old.id)
    connection.execute("DELETE FROM keywords WHERE message_id = ?", (old.id,))
    insert_keywords(connection, old.id, old.user_id, terms)
    connection.execute(
        "UPDATE sessions SET term_count = term_count + ? WHERE id = ?", (len(terms) - length, old.session_id)
    )


def count_in(connection: sqlite3.Connection, message: Message, change: int) -> None:
    """Counts a message with its keywords, which stand in the index, in its session: 1, or -1 before it goes."""
    connection.execute(
        "UPDATE sessions SET message_count = message_count + ?1, term_count = term_count + ?1 * coalesce("
        "(SELECT length FROM keywords WHERE message_id = ?2), 0) WHERE id = ?3",
        (change, message.id, message.session_id),
    )


def has_said(connection: sqlite3.Connection, user_id: int, sender: str) -> bool:
    """Is there a message of that speaker in the user's memory?"""
    found = connection.execute(
        "SELECT 1 FROM messages WHERE user_id = ? AND sender = ? LIMIT 1", (user_id, sender)
    )
    return found.fetchone() is not None


def _session_for(connection: sqlite3.Connection, user_id: int, created: int, terms: int, gap: int) -> int:
    row = connection.execute(
        "SELECT id, last_at FROM sessions WHERE user_id = ? ORDER BY id DESC LIMIT 1", (user_id,)
    ).fetchone()
    if row and abs(created - row[1]) <= gap:
        connection.execute(
            "UPDATE sessions SET last_at = max(last_at, ?), message_count = message_count + 1,"
            " term_count = term_count + ? WHERE id = ?",
            (created, terms, row[0]),
        )
        session_id: int = row[0]
        return session_id
    if row:
        connection.execute(
            "UPDATE sessions SET ended_at = last_at WHERE id = ? AND ended_at IS NULL", (row[0],)
        )
    inserted = connection.execute(
        "INSERT INTO sessions (user_id, started_at, last_at, message_count, term_count) VALUES (?, ?, ?, 1, ?)",
        (user_id, created, created, terms),
    ).lastrowid
    assert inserted is not None
    return inserted


def insert_keywords(
    connection: sqlite3.Connection, message_id: int, user_id: int, terms: Sequence[str]
) -> None:
    """Puts a message into the keyword index. Each term carries its owner, so no list of places is shared."""
    joined = " ".join(f"{user_id}:{term}" for term in terms)
    connection.execute(
        "INSERT INTO keywords (message_id, user_id, terms, length) VALUES (?, ?, ?, ?)",
        (message_id, user_id, joined, len(terms)),
    )
    connection.execute("INSERT INTO keyword_index (rowid, terms) VALUES (?, ?)", (message_id, joined))


def last(
    connection: sqlite3.Connection, user_id: int, limit: int, before: int | None = None
) -> list[Message]:
    """The newest `limit` messages, oldest first; with `before`, only those with a smaller id."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE user_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (user_id, before if before is not None else 2**63 - 1, limit),
    ).fetchall()
    return [_message(row) for row in reversed(rows)]


def after(connection: sqlite3.Connection, user_id: int, cursor: int, limit: int) -> list[Message]:
    """The first `limit` messages with an id greater than `cursor`, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE user_id = ? AND id > ? ORDER BY id LIMIT ?",
        (user_id, cursor, limit),
    ).fetchall()
    return [_message(row) for row in rows]


def between(connection: sqlite3.Connection, user_id: int, first: int, last: int) -> list[Message]:
    """The messages with ids from `first` to `last`, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE user_id = ? AND id BETWEEN ? AND ? ORDER BY id",
        (user_id, first, last),
    ).fetchall()
    return [_message(row) for row in rows]


def by_ids(connection: sqlite3.Connection, user_id: int, ids: Iterable[int]) -> dict[int, Message]:
    """Those of the messages that are the user's, by id."""
    found: dict[int, Message] = {}
    wanted = list(ids)
    for start in range(0, len(wanted), _VARIABLES_MAX):
        part = wanted[start : start + _VARIABLES_MAX]
        marks = ", ".join("?" * len(part))
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM messages WHERE user_id = ? AND id IN ({marks})", (user_id, *part)
        )
        found.update((row[0], _message(row)) for row in rows)
    return found


def glances(
    connection: sqlite3.Connection, user_id: int, after: int
) -> list[tuple[int, int, int, int, str | None, bool, bool]]:
    """What can be said of each message with a greater id than `after` without reading it, oldest first.

    Id, session, time (microseconds), size in bytes, sender, whether the user said it, and whether it ends in a
    question mark.
    """
    return connection.execute(
        "SELECT id, session_id, created_at, length(CAST(content AS BLOB)), sender, role = 'user',"
        " substr(rtrim(content), -1) IN ('?', '？') FROM messages WHERE user_id = ? AND id > ? ORDER BY id",
        (user_id, after),
    ).fetchall()


def count(connection: sqlite3.Connection, user_id: int) -> int:
    """The user's messages, both sides."""
    row = connection.execute(
        "SELECT coalesce(sum(message_count), 0) FROM sessions WHERE user_id = ?", (user_id,)
    ).fetchone()
    return int(row[0])


def speakers(connection: sqlite3.Connection, user_id: int) -> list[str]:
    """Names of those who have spoken in the user's memory."""
    rows = connection.execute("SELECT name FROM speakers WHERE user_id = ?", (user_id,))
    return [row[0] for row in rows]


def count_user_after(connection: sqlite3.Connection, user_id: int, cursor: int, limit: int = -1) -> int:
    """How many of the user's own messages came after `cursor`, counted no further than `limit` (-1: all)."""
    row = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM messages WHERE user_id = ? AND id > ? AND role = 'user' LIMIT ?)",
        (user_id, cursor, limit),
    ).fetchone()
    return int(row[0])


def sessions(connection: sqlite3.Connection, user_id: int) -> list[DialogSession]:
    """The user's sessions, oldest first."""
    rows = connection.execute(
        "SELECT id, user_id, started_at, ended_at, summary, message_count + archived_count FROM sessions"
        " WHERE user_id = ? ORDER BY id",
        (user_id,),
    )
    return [
        DialogSession(
            row[0],
            row[1],
            time_of(row[2], "sessions", row[0]),
            time_of(row[3], "sessions", row[0]) if row[3] else None,
            row[4],
            row[5],
        )
        for row in rows
    ]


def counts(connection: sqlite3.Connection, user_id: int) -> dict[str, int]:
    """Sessions, messages, active facts and archived messages of a user."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM sessions WHERE user_id = :user),"
        " (SELECT count(*) FROM messages WHERE user_id = :user),"
        " (SELECT count(*) FROM facts WHERE user_id = :user AND status = 'active'),"
        " (SELECT count(*) FROM archived_messages WHERE user_id = :user AND wish IS NOT 'remove')",
        {"user": user_id},
    ).fetchone()
    return {
        "total_sessions": row[0],
        "total_messages": row[1],
        "total_facts": row[2],
        "archived_messages": row[3],
    }


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """People, messages and active facts in all."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM messages),"
        " (SELECT count(*) FROM facts WHERE status = 'active')"
    ).fetchone()
    return {"users": row[0], "messages": row[1], "facts": row[2]}


def _message(row: tuple[int, int, Role, str, int, int, str | None, str | None]) -> Message:
    said_at = time_of(row[4], "messages", row[0])
    return Message(row[0], row[1], row[2], row[3], said_at, row[5], row[6], row[7])
