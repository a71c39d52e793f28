"""Whose data each table and each file under DATA_DIR holds, and how it is erased.

The one list that erasing, scanning and counting go by. A test holds it against a fresh database and a folder
that a real engine has filled, and fails for a table or a file that is not declared here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from keepsake.settings import PROJECT_DIR

_OF_USER = "user_id = :user"


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One table of memory.db.

    `owner` is the SQL condition, over `:user`, for a person's rows; None where the table holds nobody's data
    or is emptied together with another one (`erased_with`). `order`: lower ones are erased first, since rows
    that refer to others go before them. `texts` and `vectors` name the columns that the scan takes what it
    looks for from. `also_names`: columns that name somebody who is not the owner of the row, and why. `scrub`: what is
    set where the rows themselves stay, without anything of the person.
    """

    name: str
    holds: str
    owner: str | None = None
    order: int = 0
    texts: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    erased_with: str | None = None
    also_names: tuple[tuple[str, str], ...] = ()
    scrub: str | None = None


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Files under DATA_DIR. `pattern` is relative to it; `/**` at its end: all that lies there."""

    pattern: str
    holds: str
    erased: str

    def covers(self, relative: PurePosixPath) -> bool:
        if self.pattern.endswith("/**"):
            return PurePosixPath(self.pattern[:-3]) in relative.parents
        return len(relative.parts) == 1 and relative.match(self.pattern)


_WHERE = "where it was said: a private chat has its person's id, and a group is nobody"
_SHADOW = "the inside of the keyword index"

TABLES: tuple[TableEntry, ...] = (
    TableEntry(
        "inbox",
        "updates from Telegram that wait or are done; their bare numbers stay, so that none is handled again",
        _OF_USER,
        0,
        texts=("payload",),
        also_names=(("chat_id", _WHERE),),
        scrub="user_id = NULL, chat_id = NULL, thread_id = NULL, payload = NULL,"
        " done_at = coalesce(done_at, received_at)",
    ),
    TableEntry(
        "outbox",
        "what is sent to Telegram",
        _OF_USER,
        0,
        texts=("payload",),
        also_names=(("chat_id", _WHERE),),
    ),
    TableEntry("summaries", "what older messages came to", _OF_USER, 0, texts=("content",)),
    TableEntry(
        "forgotten_sources", "messages that tell something a person had forgotten, for summaries", _OF_USER, 0
    ),
    TableEntry(
        "tombstone_marks",
        "what was forgotten, as keyed hashes: nothing can be read from them",
        _OF_USER,
        0,
    ),
    TableEntry("tombstones", "that something was forgotten, and when", _OF_USER, 1),
    TableEntry("topics", "what a person's facts are about", _OF_USER, 0, texts=("slug", "title", "hook")),
    TableEntry(
        "dreams", "when facts were last consolidated, and what that changed", _OF_USER, 0, texts=("report",)
    ),
    TableEntry("speakers", "who has spoken in a memory", _OF_USER, 0, texts=("name",)),
    TableEntry("privacy", "who has asked that nothing is kept: times, no contents", _OF_USER, 0),
    TableEntry("message_keys", "what others call a message", _OF_USER, 0),
    TableEntry("fact_sources", "which messages a fact comes from", _OF_USER, 1),
    TableEntry("archived_sources", "which archived messages a fact comes from", _OF_USER, 1),
    TableEntry(
        "archived_messages", "which file of the archive a message is in", _OF_USER, 2, texts=("text",)
    ),
    TableEntry("archive_keys", "what a person's archive is encrypted with", _OF_USER, 3, texts=("key",)),
    TableEntry(
        "archive_files",
        "files of the archive under random names; those of an erased person stay listed until they are deleted",
        _OF_USER,
        4,
        scrub="user_id = NULL, state = 'doomed'",
    ),
    TableEntry("embeddings", "vectors of messages and facts", _OF_USER, 2, vectors=("vector",)),
    TableEntry("vector_queue", "what wants a vector", _OF_USER, 3),
    TableEntry("keywords", "the words of each message", _OF_USER, 4, texts=("terms",)),
    TableEntry("events", "what each answer cost", _OF_USER, 5),
    TableEntry("usage", "tokens that models took for a person, by day", _OF_USER, 5),
    TableEntry("fact_history", "what happened to each fact", _OF_USER, 5, texts=("from_value", "to_value")),
    TableEntry("facts", "what is known about a person", _OF_USER, 6, texts=("content", "quote", "object")),
    TableEntry(
        "messages",
        "what was said",
        _OF_USER,
        7,
        texts=("content", "sender"),
        also_names=(
            ("sender", "who spoke; the conversation is the owner's"),
            ("sender_id", "who spoke; the conversation is the owner's"),
        ),
    ),
    TableEntry("sessions", "conversations and their summaries", _OF_USER, 8, texts=("summary",)),
    TableEntry(
        "jobs",
        "work to be done for a person; the erasure itself ends last, by `erase.strip_job`",
        "user_id = :user AND kind <> 'erase'",
        9,
        texts=("payload", "result"),
    ),
    TableEntry(
        "meta", "facts about the installation; one row names its owner", "key = 'owner' AND value = :text", 10
    ),
    TableEntry("users", "that somebody is known, and their language", _OF_USER, 11),
    TableEntry("keyword_index", "the words of each message, for search", erased_with="keywords"),
    TableEntry("keyword_index_data", _SHADOW, erased_with="keywords"),
    TableEntry("keyword_index_idx", _SHADOW, erased_with="keywords"),
    TableEntry("keyword_index_config", "settings of the keyword index: nobody's"),
    TableEntry(
        "keyword_places", "a view into the keyword index, keeps nothing itself", erased_with="keywords"
    ),
    TableEntry(
        "keyword_counts", "a view into the keyword index, keeps nothing itself", erased_with="keywords"
    ),
    TableEntry("models", "how each chat model counts tokens and how many it takes: nobody's"),
    TableEntry("migrations", "which schema steps were run: nobody's"),
    TableEntry("sqlite_sequence", "the highest ids so far: numbers over everybody, nobody's"),
)

_WITH_ROWS = "with the rows: memory.db is written anew, then the write-ahead log is moved in and truncated"

FILES: tuple[FileEntry, ...] = (
    FileEntry("memory.db", "everything", _WITH_ROWS),
    FileEntry("memory.db-wal", "the newest changes to memory.db", _WITH_ROWS),
    FileEntry("memory.db-shm", "places in the write-ahead log: nobody's", "not needed"),
    FileEntry("memory.db.restoring*", "a backup on its way in", "removed when memory.db is opened"),
    FileEntry("memory.db.before-restore*", "what a backup replaced", "removed when memory.db is opened"),
    FileEntry("memory.db-journal", "old pages of memory.db while it is being made", _WITH_ROWS),
    FileEntry(
        "vector_db/**", "vectors under random names", "the person's collection is deleted with all its files"
    ),
    FileEntry(
        "archive/**",
        "older messages, encrypted with their person's key, under random names",
        "the person's key is destroyed with the rows, then their files are deleted",
    ),
    FileEntry("vector_db.lock", "the lock of the vector index: nobody's", "not needed"),
    FileEntry("keepsake.lock", "the lock of the folder: nobody's", "not needed"),
    FileEntry("keepsake.pid", "which process holds the folder: nobody's", "not needed"),
    FileEntry(
        "erasures.jsonl", "that somebody was erased, as a keyed hash: nobody's", "kept: it is the proof"
    ),
    FileEntry("erasures.key", "the key of those hashes: nobody's", "kept"),
    FileEntry("in-flight-*", "messages that are not to be kept, until they are answered", "with their rows"),
    FileEntry("erasing-*.npz", "keyed hashes of what an unfinished erasure looks for", "removed at its end"),
)


def owned() -> list[TableEntry]:
    """Tables with rows of people, in the order in which they are erased."""
    return sorted((entry for entry in TABLES if entry.owner is not None), key=lambda entry: entry.order)


def parameters(user_id: int) -> dict[str, object]:
    """What the conditions of `TableEntry.owner` are bound to."""
    return {"user": user_id, "text": str(user_id)}


def count_rows(connection: sqlite3.Connection, user_id: int) -> dict[str, int]:
    """How many rows each table holds of a person."""
    return {
        entry.name: connection.execute(
            f"SELECT count(*) FROM {entry.name} WHERE {entry.owner}", parameters(user_id)
        ).fetchone()[0]
        for entry in owned()
    }


def people(connection: sqlite3.Connection) -> list[int]:
    """Everybody of whom some table holds a row."""
    found: set[int] = set()
    for entry in owned():
        if entry.owner == _OF_USER:
            rows = connection.execute(f"SELECT DISTINCT user_id FROM {entry.name} WHERE user_id IS NOT NULL")
            found.update(row[0] for row in rows)
    return sorted(found)


def covered(relative: PurePosixPath) -> bool:
    """Is a file, named relative to DATA_DIR, declared?"""
    return any(entry.covers(relative) for entry in FILES)


def files(data_dir: Path) -> Iterator[Path]:
    """The files that are looked through after an erasure: all under DATA_DIR.

    Where DATA_DIR is the program's own folder, as it is by default, only the declared ones: source code and
    libraries stand beside them there.
    """
    own_folder = data_dir.resolve() == PROJECT_DIR
    folders = ((data_dir / name).rglob("*") for name in ("vector_db", "archive"))
    found = chain(data_dir.glob("*"), *folders) if own_folder else data_dir.rglob("*")
    for path in found:
        if path.is_symlink() or not path.is_file():
            continue
        if not own_folder or covered(PurePosixPath(path.relative_to(data_dir).as_posix())):
            yield path
