"""Rows about messages that have left for the archive. Every function is a step inside a transaction of `Database`."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keepsake.clock import from_micros
from keepsake.models import ArchivedSource, Message
from keepsake.store import embeddings, facts, jobs, keywords, messages

RETAIN, LEAVE, REWRITE = "retain", "leave", "rewrite"

_BATCH_MESSAGES = 500
_BATCH_CHARACTERS = 2_000_000  # of text; one message alone may have more
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Rules:
    """Which messages leave: those said before `before` (microseconds), but for the newest `stays`.

    `waits_for_facts`: not before extraction has read them. `summaries`: nor before so many of the newest summaries
    are made that are due.
    """

    before: int
    stays: int
    waits_for_facts: bool
    summaries: int


class File(NamedTuple):
    """One file of the archive."""

    id: int
    user_id: int
    name: str


class Held(NamedTuple):
    """A message as it is archived, with its key in `message_keys` and its terms, joined by spaces."""

    message: Message
    key: str | None
    terms: str


def people_with_older(connection: sqlite3.Connection, before: int) -> list[int]:
    """Users with a message that was said before a time, in microseconds."""
    rows = connection.execute(
        "SELECT user_id FROM users WHERE EXISTS"
        " (SELECT 1 FROM messages WHERE messages.user_id = users.user_id AND created_at < ?)",
        (before,),
    )
    return [row[0] for row in rows]


def leaving(connection: sqlite3.Connection, user_id: int, rules: Rules) -> list[Held]:
    """The next messages of a user that leave, the earliest first: as many as make one file."""
    last = _last_that_may(connection, user_id, rules)
    if last is None:
        return []
    rows = connection.execute(
        "SELECT id, length(content) FROM messages WHERE user_id = ? AND created_at < ? AND id <= ?"
        " ORDER BY created_at, id LIMIT ?",
        (user_id, rules.before, last, _BATCH_MESSAGES),
    ).fetchall()
    ids: list[int] = []
    characters = 0
    for message_id, length in rows:
        characters += length
        if ids and characters > _BATCH_CHARACTERS:
            break
        ids.append(message_id)
    return held(connection, user_id, ids)


def _last_that_may(connection: sqlite3.Connection, user_id: int, rules: Rules) -> int | None:
    """The greatest id that a leaving message may have; None where none may leave."""
    row = connection.execute(
        "SELECT id FROM messages WHERE user_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?", (user_id, rules.stays)
    ).fetchone()
    if row is None:
        return None
    limits = [int(row[0])]
    if rules.waits_for_facts:
        limits.append(facts.cursor(connection, user_id))
    (waiting,) = connection.execute(
        "SELECT min(first_id) FROM (SELECT first_id, content FROM summaries WHERE user_id = ?"
        " ORDER BY first_id DESC LIMIT ?) WHERE content IS NULL",
        (user_id, rules.summaries),
    ).fetchone()
    if waiting is not None:
        limits.append(waiting - 1)
    return min(limits)


def held(connection: sqlite3.Connection, user_id: int, ids: Sequence[int]) -> list[Held]:
    """Those of the messages that are still here, with what is archived of them, in the order of `ids`."""
    found = messages.by_ids(connection, user_id, ids)
    own = f"{user_id}:"
    more = {
        one: connection.execute(
            "SELECT (SELECT key FROM message_keys WHERE message_id = ?1 AND user_id = ?2),"
            " (SELECT terms FROM keywords WHERE message_id = ?1)",
            (one, user_id),
        ).fetchone()
        for one in found
    }
    return [
        Held(
            found[one],
            more[one][0],
            " ".join(term.removeprefix(own) for term in (more[one][1] or "").split(" ")),
        )
        for one in ids
        if one in found
    ]


def begin_file(connection: sqlite3.Connection, user_id: int, name: str, now: int) -> tuple[File, str] | None:
    """Notes a file that will be written, and the user's key, made where there is none; None for nobody we know."""
    if connection.execute("SELECT 1 FROM users WHERE user_id = ?", (user_id,)).fetchone() is None:
        return None
    connection.execute(
        "INSERT OR IGNORE INTO archive_keys (user_id, key) VALUES (?, ?)",
        (user_id, secrets.token_hex(_KEY_BYTES)),
    )
    (file_id,) = connection.execute(
        "INSERT INTO archive_files (user_id, name, state, created_at) VALUES (?, ?, 'writing', ?) RETURNING id",
        (user_id, name, now),
    ).fetchone()
    found = key(connection, user_id)
    assert found is not None
    return File(file_id, user_id, name), found


def key(connection: sqlite3.Connection, user_id: int) -> str | None:
    """The key of a user's archive, in hexadecimal."""
    row = connection.execute("SELECT key FROM archive_keys WHERE user_id = ?", (user_id,)).fetchone()
    return row[0] if row else None


def move_out(
    connection: sqlite3.Connection, file: File, batch: Sequence[Held], with_key: str, now: int
) -> bool:
    """Takes messages away that stand in a file, and records the file, or does nothing.

    False where one of them, or the person's key, is not as it was when the file was written.
    """
    ids = [one.message.id for one in batch]
    unchanged = key(connection, file.user_id) == with_key and held(connection, file.user_id, ids) == list(
        batch
    )
    if not unchanged or not _keep(connection, file):
        return False
    connection.executemany(
        "INSERT INTO archived_messages (message_id, user_id, file_id, key, said_at)"
        " SELECT id, user_id, ?, ?, created_at FROM messages WHERE id = ?",
        [(file.id, one.key, one.message.id) for one in batch],
    )
    connection.executemany(
        "INSERT INTO archived_sources (fact_id, message_id, user_id)"
        " SELECT fact_id, message_id, user_id FROM fact_sources WHERE message_id = ?",
        [(one,) for one in ids],
    )
    connection.executemany(
        "UPDATE sessions SET archived_count = archived_count + 1 WHERE id = ?",
        [(one.message.session_id,) for one in batch],
    )
    _take_out(connection, file.user_id, [one.message for one in batch], now)
    return True


def delete(connection: sqlite3.Connection, user_id: int, rules: Rules, now: int) -> int:
    """Deletes the next messages of a user that leave, for good; how many."""
    batch = [one.message for one in leaving(connection, user_id, rules)]
    _take_out(connection, user_id, batch, now)
    for session_id in {message.session_id for message in batch}:
        connection.execute("UPDATE sessions SET summary = NULL WHERE id = ?", (session_id,))
    connection.execute(
        "DELETE FROM sessions WHERE user_id = ?1 AND message_count = 0 AND archived_count = 0"
        " AND id < (SELECT max(id) FROM sessions WHERE user_id = ?1)",
        (user_id,),
    )
    return len(batch)


def _take_out(connection: sqlite3.Connection, user_id: int, batch: Sequence[Message], now: int) -> None:
    """Removes messages with their words, vectors and keys, and what refers to them."""
    vectors = []
    for message in batch:
        one = (message.id,)
        messages.count_in(connection, message, -1)
        keywords.unindex(connection, message.id)
        for table in ("keywords", "message_keys", "fact_sources"):
            connection.execute(f"DELETE FROM {table} WHERE message_id = ?", one)
        connection.execute("UPDATE outbox SET message_id = NULL WHERE message_id = ?", one)
        if embeddings.delete_one(connection, user_id, "message", message.id):
            vectors.append(message.id)
        connection.execute("DELETE FROM messages WHERE id = ?", one)
    if vectors:
        payload: dict[str, object] = {"messages": vectors}
        job = f"{user_id}:messages:{vectors[0]}"
        jobs.enqueue(connection, jobs.UNINDEX, job, now, user_id=user_id, payload=payload)


def _keep(connection: sqlite3.Connection, file: File) -> bool:
    """From here on the file counts; False where it is doomed meanwhile."""
    changed = connection.execute(
        "UPDATE archive_files SET state = 'kept' WHERE id = ? AND user_id = ? AND state = 'writing'",
        (file.id, file.user_id),
    )
    return changed.rowcount == 1


def abandon(connection: sqlite3.Connection, file_id: int) -> None:
    """A file that was begun is to be deleted, unless it counts already."""
    connection.execute(
        "UPDATE archive_files SET state = 'doomed' WHERE id = ? AND state = 'writing'", (file_id,)
    )


def doom_unfinished(connection: sqlite3.Connection) -> None:
    """At start: nobody is writing, so what was being written when the process ended is to go."""
    connection.execute("UPDATE archive_files SET state = 'doomed' WHERE state = 'writing'")


def doomed(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Ids and names of the files that are to be deleted."""
    return connection.execute(
        "SELECT id, name FROM archive_files WHERE state = 'doomed' ORDER BY id"
    ).fetchall()


def gone(connection: sqlite3.Connection, file_id: int) -> None:
    """A doomed file is deleted."""
    connection.execute("DELETE FROM archive_files WHERE id = ? AND state = 'doomed'", (file_id,))


def files(connection: sqlite3.Connection, user_id: int | None = None) -> list[File]:
    """The kept files, of a user or of all, the newest first."""
    rows = connection.execute(
        "SELECT id, user_id, name FROM archive_files WHERE state = 'kept' AND (?1 IS NULL OR user_id = ?1)"
        " ORDER BY id DESC",
        (user_id,),
    )
    return [File(*row) for row in rows]


def names(connection: sqlite3.Connection) -> set[str]:
    """The names of all files there is a row of."""
    return {row[0] for row in connection.execute("SELECT name FROM archive_files")}


def ids_in(connection: sqlite3.Connection, file_id: int, *, wished: bool = False) -> set[int]:
    """The messages that count in a file; `wished`: also those that it is to be written anew without."""
    rows = connection.execute(
        "SELECT message_id FROM archived_messages WHERE file_id = ? AND (wish IS NULL OR ?)",
        (file_id, wished),
    )
    return {row[0] for row in rows}


def count(connection: sqlite3.Connection, user_id: int) -> int:
    """How many messages of a user are archived."""
    row = connection.execute(
        "SELECT count(*) FROM archived_messages WHERE user_id = ? AND wish IS NOT 'remove'", (user_id,)
    ).fetchone()
    return int(row[0])


def by_key(connection: sqlite3.Connection, user_id: int, key_of_message: str) -> int | None:
    """The id of the user's archived message that was stored with this key."""
    row = connection.execute(
        "SELECT message_id FROM archived_messages WHERE user_id = ? AND key = ?", (user_id, key_of_message)
    ).fetchone()
    return row[0] if row else None


def sources(connection: sqlite3.Connection, user_id: int, ids: Iterable[int]) -> list[ArchivedSource]:
    """Those of the messages that are archived, and when they were said."""
    statement = (
        "SELECT said_at FROM archived_messages WHERE message_id = ? AND user_id = ? AND wish IS NOT 'remove'"
    )
    found = ((one, connection.execute(statement, (one, user_id)).fetchone()) for one in ids)
    return [ArchivedSource(one, from_micros(row[0])) for one, row in found if row]


def wish(connection: sqlite3.Connection, user_id: int, texts: Mapping[int, str | None], now: int) -> int:
    """Has archived messages removed (None) or given another text. Facts that came from them alone go. How many."""
    changed = 0
    for message_id, text in texts.items():
        changed += connection.execute(
            "UPDATE archived_messages SET wish = ?, text = ? WHERE message_id = ? AND user_id = ?"
            " AND wish IS NOT 'remove'",
            ("remove" if text is None else "edit", text, message_id, user_id),
        ).rowcount
        drawn = connection.execute(
            "DELETE FROM archived_sources WHERE message_id = ? AND user_id = ? RETURNING fact_id",
            (message_id, user_id),
        ).fetchall()
        for fact in facts.by_ids(connection, user_id, [row[0] for row in drawn]):
            if not fact.message_ids:
                facts.remove(connection, fact, now)
    if changed:
        jobs.enqueue(connection, REWRITE, str(user_id), now, user_id=user_id)
    return changed


def wishes(connection: sqlite3.Connection, user_id: int) -> dict[int, dict[int, str | None]]:
    """Of each file (by id) the messages that are to be removed (None) or get another text."""
    found: dict[int, dict[int, str | None]] = {}
    rows = connection.execute(
        "SELECT file_id, message_id, text FROM archived_messages WHERE user_id = ? AND wish IS NOT NULL",
        (user_id,),
    )
    for file_id, message_id, text in rows:
        found.setdefault(file_id, {})[message_id] = text
    return found


def replace_file(
    connection: sqlite3.Connection,
    file: File,
    old: File,
    done: Mapping[int, str | None],
    with_key: str,
    now: int,  # noqa: ARG001 - as `move_out`
) -> bool:
    """A file takes the place of another, with these wishes fulfilled. False where others came meanwhile."""
    wished = wishes(connection, old.user_id).get(old.id)
    if wished != done or key(connection, file.user_id) != with_key or not _keep(connection, file):
        return False
    connection.execute("DELETE FROM archived_messages WHERE file_id = ? AND wish = 'remove'", (old.id,))
    connection.execute(
        "UPDATE archived_messages SET file_id = ?, wish = NULL, text = NULL WHERE file_id = ?",
        (file.id, old.id),
    )
    connection.execute("UPDATE archive_files SET state = 'doomed' WHERE id = ?", (old.id,))
    return True


def rename(connection: sqlite3.Connection, file: File, name: str, ids: Iterable[int]) -> None:
    """An older memory.db meets a file that was written anew since: it counts, with the messages it still holds."""
    for message_id in ids_in(connection, file.id, wished=True) - set(ids):
        connection.execute("DELETE FROM archived_messages WHERE message_id = ?", (message_id,))
    connection.execute("UPDATE archive_files SET name = ? WHERE id = ?", (name, file.id))
