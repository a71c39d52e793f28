"""Checks what is kept against itself, over a read-only connection, and mends what can be made anew.

Reads SQLite and the ledger only: the vector index is open in the running bot, and what it holds stands in
`embeddings.in_chroma`. No content of messages in anything said here: ids and counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from keepsake.clock import to_micros
from keepsake.errors import DatabaseError
from keepsake.forgetting import anchor
from keepsake.forgetting.ledger import KEY_IS_OPEN, Anchor, Ledger
from keepsake.index.terms import analyse
from keepsake.store import embeddings, jobs, migrate, times
from keepsake.store.database import connect_reader

FIX = "bot.py verify --fix"
_RESTORE = "restore a backup"
_REFILL = "start the bot: it is filled anew"
# Their rows are made of others: where only they refer to what is gone, `fix` takes them away or makes them anew.
_DERIVED = frozenset({"embeddings", "vector_queue", "keywords"})
_COMPARE = "somebody changed erasures.jsonl, or its disk is damaged: compare it with the receipts"
_UNIT_TOLERANCE = 1e-3  # float32 unit vectors are within 1e-6; a damaged one is far off
_SHOWN = 5  # ids named in a line
_BATCH = 2000  # vectors read at once


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `detail`: what was found, in one line; `mend`: what to do, where it is not ok."""

    check: str
    ok: bool
    detail: str
    mend: str | None = None

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "mend": None if self.ok else self.mend}


def verify_folder(path: Path, data_dir: Path, *, with_vectors: bool = True) -> list[Check]:
    """All checks of a data folder; a memory.db that cannot be opened is one that is off. As `verify` else."""
    try:
        with closing(connect_reader(path)) as connection:
            return verify(connection, data_dir, with_vectors=with_vectors)
    except DatabaseError as error:
        said, _, mend = str(error).rpartition("; ")  # our errors say what to do at their end
        return [Check("database", False, said or mend, mend if said else _RESTORE), _ledger(data_dir, None)]


def verify(connection: sqlite3.Connection, data_dir: Path, *, with_vectors: bool = True) -> list[Check]:
    """All checks, of one moment. `with_vectors`: there is an embedding model, so items have vectors or wait.

    Reads the whole database: run it off the event loop.
    """
    connection.execute("BEGIN")  # a bot may write meanwhile
    remembered = None
    try:
        checks = _database(connection, with_vectors=with_vectors)
        if checks[0].ok:
            remembered = anchor.read(connection)
            checks.append(_erasures(connection, data_dir))
        if with_vectors and checks[0].ok:
            checks.append(_vector_index(connection, data_dir / "vector_db"))
    except sqlite3.DatabaseError as error:
        checks = [Check("database", False, f"memory.db cannot be read: {error}", _RESTORE)]
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return [*checks, _ledger(data_dir, remembered)]


def _database(connection: sqlite3.Connection, *, with_vectors: bool) -> list[Check]:
    checks = [_integrity(connection)]
    if not checks[0].ok:
        return checks
    checks.append(_schema(connection))
    checks += [_references(connection), _keyword_rows(connection), _keyword_index(connection)]
    checks += [_times(connection), _sessions(connection), _orphans(connection), _vectors(connection)]
    if with_vectors:
        checks += [_without_vector(connection), _waiting(connection)]
    return checks


def _integrity(connection: sqlite3.Connection) -> Check:
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    if found == ["ok"]:
        return Check("database", True, "memory.db is whole")
    return Check("database", False, f"memory.db is damaged: {found[0].splitlines()[-1]}", _RESTORE)


def _schema(connection: sqlite3.Connection) -> Check:
    version, newest = migrate.schema_version(connection), migrate.migrations()[-1].number
    detail = f"schema {version}, this program knows {newest}"
    return Check("schema", version == newest, detail, "start the bot once")


def _references(connection: sqlite3.Connection) -> Check:
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    tables = sorted({row[0] for row in broken})
    detail = (
        f"{len(broken)} rows refer to what is gone ({', '.join(tables)})"
        if broken
        else "all rows refer to what is there"
    )
    return Check("references", not broken, detail, FIX if _DERIVED.issuperset(tables) else _RESTORE)


_KEYWORDS_MISSING = """
SELECT id FROM messages AS m WHERE NOT EXISTS
    (SELECT 1 FROM keywords AS k WHERE k.message_id = m.id AND k.user_id = m.user_id)
"""
_KEYWORDS_STRAY = """
SELECT message_id FROM keywords AS k WHERE NOT EXISTS
    (SELECT 1 FROM messages AS m WHERE m.id = k.message_id AND m.user_id = k.user_id)
    OR (k.terms <> '' AND k.terms NOT LIKE k.user_id || ':%')
"""


def _keyword_rows(connection: sqlite3.Connection) -> Check:
    missing, stray = _ids(connection, _KEYWORDS_MISSING), _ids(connection, _KEYWORDS_STRAY)
    detail = (
        f"{_named(missing, 'messages')} without keywords, {_named(stray, 'keywords')} without their message"
    )
    return Check("keywords", not missing and not stray, detail, FIX)


def _keyword_index(connection: sqlite3.Connection) -> Check:
    """Does the index have as many places for each message as the message has words?"""
    try:
        indexed = dict(connection.execute("SELECT doc, count(*) FROM keyword_places GROUP BY doc"))
    except sqlite3.DatabaseError as error:
        return Check("keyword index", False, f"the keyword index cannot be read: {error}", FIX)
    words = dict(connection.execute("SELECT message_id, length FROM keywords WHERE length > 0"))
    off = sorted(item for item in indexed.keys() | words.keys() if indexed.get(item) != words.get(item))
    return Check("keyword index", not off, f"{_named(off, 'messages')} not indexed as they stand", FIX)


def _times(connection: sqlite3.Connection) -> Check:
    off = [
        f"{table} {row[0]}"
        for table, columns in times.COLUMNS.items()
        for row in connection.execute(
            f"SELECT {'name' if table == 'models' else 'id'} FROM {table}"
            f" WHERE {' OR '.join(f'{column} NOT BETWEEN :least AND :most' for column in columns)}",
            {"least": times.LEAST, "most": times.MOST},
        )
    ]
    more = f" ({', '.join(off[:_SHOWN])}{', …' if len(off) > _SHOWN else ''})" if off else ""
    return Check("times", not off, f"{len(off)} rows with a time that cannot be{more}", _RESTORE)


def _sessions(connection: sqlite3.Connection) -> Check:
    off = _ids(connection, f"SELECT id FROM ({_COUNTED}) WHERE message_count <> held OR term_count <> terms")
    return Check("sessions", not off, f"{_named(off, 'sessions')} with a wrong count", FIX)


_COUNTED = """
SELECT s.id, s.message_count, s.term_count, count(m.id) AS held, coalesce(sum(k.length), 0) AS terms
FROM sessions AS s LEFT JOIN messages AS m ON m.session_id = s.id
LEFT JOIN keywords AS k ON k.message_id = m.id GROUP BY s.id
"""
_WITH_ITEM = """
EXISTS (SELECT 1 FROM messages AS m WHERE e.kind = 'message' AND m.id = e.item_id AND m.user_id = e.user_id)
OR EXISTS (SELECT 1 FROM facts AS f WHERE e.kind = 'fact' AND f.id = e.item_id AND f.user_id = e.user_id)
"""


_SUMMARY_OF_NOTHING = """
SELECT id FROM summaries AS s WHERE content IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM messages AS m WHERE m.user_id = s.user_id AND m.id BETWEEN s.first_id AND s.last_id)
AND NOT EXISTS (SELECT 1 FROM archived_messages AS a
    WHERE a.user_id = s.user_id AND a.message_id BETWEEN s.first_id AND s.last_id)
"""


def _orphans(connection: sqlite3.Connection) -> Check:
    vectors = _ids(connection, f"SELECT id FROM embeddings AS e WHERE NOT ({_WITH_ITEM})")
    waiting = _ids(connection, f"SELECT item_id FROM vector_queue AS e WHERE NOT ({_WITH_ITEM})")
    summaries = _ids(connection, _SUMMARY_OF_NOTHING)
    detail = (
        f"{_named(vectors, 'vectors')} and {_named(waiting, 'waiting items')} without their message or fact,"
        f" {_named(summaries, 'summaries')} of nothing"
    )
    return Check("orphans", not vectors and not waiting and not summaries, detail, FIX)


def _vectors(connection: sqlite3.Connection) -> Check:
    bad = list(_bad_vectors(connection))
    return Check("vectors", not bad, f"{_named(bad, 'vectors')} that are no unit vectors of their model", FIX)


def _bad_vectors(connection: sqlite3.Connection) -> Iterator[int]:
    """Ids of vectors with another length than most of their model, not finite, or not of length 1."""
    usual = dict(
        connection.execute(
            "SELECT model, size FROM (SELECT model, length(vector) AS size, count(*) AS many"
            " FROM embeddings GROUP BY 1, 2) GROUP BY model HAVING many = max(many)"
        )
    )
    rows = connection.execute("SELECT id, model, vector FROM embeddings ORDER BY model, id")
    while batch := rows.fetchmany(_BATCH):
        whole: dict[str, list[tuple[int, bytes]]] = {}
        for item, model, vector in batch:
            if len(vector) != usual[model] or not vector or len(vector) % 4:
                yield item
            else:
                whole.setdefault(model, []).append((item, vector))
        for pairs in whole.values():
            matrix = np.frombuffer(b"".join(vector for _, vector in pairs), dtype="<f4").reshape(
                len(pairs), -1
            )
            with np.errstate(invalid="ignore", over="ignore"):
                wrong = ~(np.abs(np.linalg.norm(matrix, axis=1) - 1) < _UNIT_TOLERANCE)
            yield from (pairs[int(index)][0] for index in np.flatnonzero(wrong))


_NOT_QUEUED = """
SELECT item.user_id, item.kind, item.id FROM (
    SELECT user_id, 'message' AS kind, id FROM messages
    UNION ALL SELECT user_id, 'fact', id FROM facts WHERE status = 'active') AS item
WHERE NOT EXISTS (SELECT 1 FROM embeddings AS e
    WHERE e.user_id = item.user_id AND e.kind = item.kind AND e.item_id = item.id)
AND NOT EXISTS (SELECT 1 FROM vector_queue AS q
    WHERE q.user_id = item.user_id AND q.kind = item.kind AND q.item_id = item.id)
"""
_QUEUED_FOR_NOBODY = """
SELECT DISTINCT user_id FROM vector_queue AS q WHERE NOT EXISTS
    (SELECT 1 FROM jobs AS j
    WHERE j.kind = 'embed' AND j.user_id = q.user_id AND j.state IN ('waiting', 'running'))
"""


def _without_vector(connection: sqlite3.Connection) -> Check:
    lost = [row[2] for row in connection.execute(_NOT_QUEUED)]
    waiting = connection.execute("SELECT count(*) FROM vector_queue").fetchone()[0]
    detail = f"{_named(lost, 'messages or facts')} without a vector that nothing makes; {waiting} being made"
    return Check("vectors made", not lost, detail, FIX)


def _waiting(connection: sqlite3.Connection) -> Check:
    users = [row[0] for row in connection.execute(_QUEUED_FOR_NOBODY)]
    return Check("work queued", not users, f"{len(users)} users with work that no job stands for", FIX)


def _vector_index(connection: sqlite3.Connection, folder: Path) -> Check:
    """Is the folder there that `embeddings` says holds vectors? What is in it only the bot looks at."""
    held = connection.execute("SELECT count(*) FROM embeddings WHERE in_chroma = 1").fetchone()[0]
    there = folder.is_dir()
    detail = f"{held} vectors handed over to {folder.name}" + ("" if there else ", which is not there")
    return Check("vector index", there or not held, detail, _REFILL)


def _erasures(connection: sqlite3.Connection, data_dir: Path) -> Check:
    """Is each erasure that has begun still in the queue?"""
    begun = len(list(data_dir.glob("erasing-*.npz")))
    queued = connection.execute("SELECT count(*) FROM jobs WHERE kind = 'erase'").fetchone()[0]
    detail = f"{begun} begun and not finished, {queued} in the queue"
    return Check("erasures", not begun or queued > 0, detail, "repeat `bot.py erase ID --yes`")


def _ledger(data_dir: Path, remembered: Anchor | None) -> Check:
    wrong = Ledger(data_dir).check(remembered)
    detail = "; ".join(wrong[:_SHOWN]) if wrong else "the chain of erasures is whole"
    return Check("ledger", not wrong, detail, FIX if wrong == [KEY_IS_OPEN] else _COMPARE)


def _ids(connection: sqlite3.Connection, query: str) -> list[int]:
    return [row[0] for row in connection.execute(query)]


def _named(ids: list[int], what: str) -> str:
    if not ids:
        return f"0 {what}"
    more = ", …" if len(ids) > _SHOWN else ""
    return f"{len(ids)} {what} ({', '.join(map(str, ids[:_SHOWN]))}{more})"


def fix(connection: sqlite3.Connection, *, now: datetime) -> dict[str, int]:
    """Mends what can be made anew, in one transaction; what it mended, by name. Idempotent."""
    mended = {
        "keywords": _mend_keywords(connection),
        "orphans": _delete_orphans(connection),
        "vectors": _delete_bad_vectors(connection),
        "sessions": _recount(connection),
        "queued": _queue_lost(connection),
    }
    connection.execute("INSERT INTO keyword_index (keyword_index) VALUES ('rebuild')")
    moment = to_micros(now)
    work: tuple[tuple[str, Callable[[sqlite3.Connection], list[int]]], ...] = (
        ("embed", embeddings.users_queued),
        ("chroma", embeddings.users_pending_for_chroma),
    )
    for kind, users in work:
        for user_id in users(connection):
            jobs.enqueue(connection, kind, str(user_id), moment, user_id=user_id)
    return mended


def _mend_keywords(connection: sqlite3.Connection) -> int:
    stray = _ids(connection, _KEYWORDS_STRAY)
    connection.executemany("DELETE FROM keywords WHERE message_id = ?", [(item,) for item in stray])
    missing = connection.execute(
        f"SELECT id, user_id, content FROM messages WHERE id IN ({_KEYWORDS_MISSING})"
    ).fetchall()
    for message_id, user_id, content in missing:
        terms = analyse(content)
        connection.execute(
            "INSERT OR REPLACE INTO keywords (message_id, user_id, terms, length) VALUES (?, ?, ?, ?)",
            (message_id, user_id, " ".join(f"{user_id}:{term}" for term in terms), len(terms)),
        )
    return len(stray) + len(missing)


def _delete_orphans(connection: sqlite3.Connection) -> int:
    statements = (
        f"DELETE FROM embeddings AS e WHERE NOT ({_WITH_ITEM})",
        f"DELETE FROM vector_queue AS e WHERE NOT ({_WITH_ITEM})",
        f"DELETE FROM summaries WHERE id IN ({_SUMMARY_OF_NOTHING})",
    )
    return sum(connection.execute(statement).rowcount for statement in statements)


def _delete_bad_vectors(connection: sqlite3.Connection) -> int:
    bad = list(_bad_vectors(connection))
    connection.executemany("DELETE FROM embeddings WHERE id = ?", [(item,) for item in bad])
    return len(bad)


def _recount(connection: sqlite3.Connection) -> int:
    return connection.execute(
        f"UPDATE sessions SET message_count = c.held, term_count = c.terms FROM ({_COUNTED}) AS c"
        " WHERE sessions.id = c.id AND (c.message_count <> c.held OR c.term_count <> c.terms)"
    ).rowcount


def _queue_lost(connection: sqlite3.Connection) -> int:
    lost = connection.execute(_NOT_QUEUED).fetchall()
    for user_id, kind, item_id in lost:
        embeddings.queue(connection, user_id, kind, item_id)
    return len(lost)
