"""Each kind of damage is seen, named and, where it can be, mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from keepsake.clock import to_micros
from keepsake.forgetting.ledger import Ledger
from keepsake.index.terms import analyse
from keepsake.models import FactDraft
from keepsake.store import embeddings, facts, jobs, messages, times, users
from keepsake.store.database import connect_reader, connect_writer, transact
from keepsake.verify import Check, fix, verify, verify_folder

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TEXTS = (
    "I live in Angarsk, ул. Ленина 5",
    "tôi ăn tôm được không",
    "我喜欢喝茶，不喜欢咖啡",
    "mail me at ann.lee-2@example.com about snake_case v3.11",
    "the and of",
    "!!!",
)


def unit(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def fill(connection: sqlite3.Connection, user_id: int) -> None:
    users.ensure(connection, user_id, to_micros(NOW))
    for text in TEXTS:
        new = messages.NewMessage(user_id, "user", text, NOW)
        message = messages.insert(connection, new, analyse(text), 1_000_000)
        embeddings.store(connection, user_id, "model", [("message", message.id, unit(message.id))])
    fact_id = facts.insert(connection, user_id, FactDraft("Lives in Angarsk", (message.id,)), to_micros(NOW))
    assert fact_id is not None
    embeddings.queue(connection, user_id, "fact", fact_id)
    jobs.enqueue(connection, "embed", str(user_id), to_micros(NOW), user_id=user_id)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect_writer(tmp_path / "memory.db")) as connection:
        for user_id in (5, 55, -7):
            transact(connection, fill, user_id)
        yield connection


def off(folder: Path) -> dict[str, str]:
    checks = verify_folder(folder / "memory.db", folder)
    return {check.check: check.detail for check in checks if not check.ok}


def mend_of(folder: Path, name: str) -> str | None:
    return next(check.mend for check in verify_folder(folder / "memory.db", folder) if check.check == name)


def test_a_healthy_database_is_clean(database: sqlite3.Connection, tmp_path: Path) -> None:
    assert off(tmp_path) == {}
    with closing(connect_reader(tmp_path / "memory.db")) as connection:
        names = [check.check for check in verify(connection, tmp_path)]
    assert len(names) == len(set(names)) == 14


DAMAGE = {
    "keywords": "DELETE FROM keywords WHERE message_id = 2",
    "keyword index": "INSERT INTO keyword_index (keyword_index) VALUES ('delete-all')",
    "sessions": "UPDATE sessions SET message_count = 9 WHERE id = 1",
    "orphans": "UPDATE embeddings SET user_id = 55, item_id = 999 WHERE id = 1",
    "vectors made": "DELETE FROM embeddings WHERE id = 3",
    "work queued": "DELETE FROM jobs WHERE user_id = 5",
}


def test_a_summary_of_messages_that_are_all_gone_is_seen_and_taken_away(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    insert = "INSERT INTO summaries (user_id, first_id, last_id, said_at, content) VALUES (5, ?, ?, 0, 'so it was')"
    database.execute(insert, (1, 6))
    assert off(tmp_path) == {}
    database.execute(insert, (900, 940))
    assert list(off(tmp_path)) == ["orphans"]
    assert transact(database, fix, now=NOW)["orphans"] == 1
    assert off(tmp_path) == {}
    assert database.execute("SELECT first_id FROM summaries").fetchall() == [(1,)]


@pytest.mark.parametrize("micros", [10**18, -(10**18), 2**63 - 1])
@pytest.mark.parametrize(
    ("table", "column"), [(table, columns[-1]) for table, columns in times.COLUMNS.items()]
)
def test_a_time_that_cannot_be_is_named_with_its_row(
    database: sqlite3.Connection, tmp_path: Path, table: str, column: str, micros: int
) -> None:
    database.execute("INSERT INTO models (name, factor, answers, updated_at) VALUES ('m', 1, 0, 0)")
    database.execute(
        "INSERT INTO summaries (user_id, first_id, last_id, said_at, content) VALUES (5, 1, 6, 0, 'so')"
    )
    database.execute(
        "INSERT INTO fact_history (user_id, fact_id, what, made_by, valid_at, recorded_at)"
        " VALUES (5, 1, 'learned', 'hand', 0, 0)"
    )
    key = "name" if table == "models" else "id"
    (row,) = database.execute(f"SELECT {key} FROM {table} LIMIT 1").fetchone()
    database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (micros, row))
    assert off(tmp_path) == {"times": f"1 rows with a time that cannot be ({table} {row})"}


@pytest.mark.parametrize("check", DAMAGE)
def test_damage_is_seen_and_mended(database: sqlite3.Connection, tmp_path: Path, check: str) -> None:
    database.execute(DAMAGE[check])
    assert check in off(tmp_path)
    mended = transact(database, fix, now=NOW)
    assert off(tmp_path) == {}
    assert check in ("keyword index", "work queued") or sum(mended.values()) > 0
    assert sum(transact(database, fix, now=NOW).values()) == 0, "nothing is mended twice"


@pytest.mark.parametrize(
    "vector",
    [
        unit(1)[:100],
        unit(1) * 3,
        np.full(384, np.nan, np.float32),
        np.zeros(384, np.float32),
        np.empty(0, np.float32),
    ],
    ids=["short", "long", "nan", "zero", "empty"],
)
def test_a_damaged_vector_is_made_anew(
    database: sqlite3.Connection, tmp_path: Path, vector: np.ndarray[tuple[int], np.dtype[np.float32]]
) -> None:
    database.execute("UPDATE embeddings SET vector = ? WHERE id = 2", (vector.astype("<f4").tobytes(),))
    assert off(tmp_path) == {"vectors": "1 vectors (2) that are no unit vectors of their model"}
    transact(database, fix, now=NOW)
    assert off(tmp_path) == {}
    assert database.execute("SELECT count(*) FROM vector_queue WHERE kind = 'message'").fetchone() == (1,)


def test_somebody_elses_words_under_a_message_are_seen(database: sqlite3.Connection, tmp_path: Path) -> None:
    database.execute("UPDATE keywords SET terms = replace(terms, '5:', '9:') WHERE message_id = 1")
    assert "keywords" in off(tmp_path)
    transact(database, fix, now=NOW)
    assert off(tmp_path) == {}
    assert database.execute("SELECT terms FROM keywords WHERE message_id = 1").fetchone()[0].startswith("5:")


def test_a_row_that_refers_to_nothing_is_seen(database: sqlite3.Connection, tmp_path: Path) -> None:
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute("UPDATE events SET user_id = 1")
    database.execute("INSERT INTO vector_queue VALUES (404, 'message', 1)")
    assert "references" in off(tmp_path)
    assert mend_of(tmp_path, "references") == "bot.py verify --fix"
    transact(database, fix, now=NOW)
    assert "references" not in off(tmp_path)

    database.execute("DELETE FROM sessions WHERE user_id = 5")
    assert "references" in off(tmp_path)
    assert mend_of(tmp_path, "references") == "restore a backup"
    transact(database, fix, now=NOW)
    assert "references" in off(tmp_path)


def test_an_index_that_is_not_there_is_seen(database: sqlite3.Connection, tmp_path: Path) -> None:
    database.execute("UPDATE embeddings SET in_chroma = 1 WHERE id < 4")
    assert off(tmp_path) == {"vector index": "3 vectors handed over to vector_db, which is not there"}
    assert mend_of(tmp_path, "vector index") == "start the bot: it is filled anew"
    (tmp_path / "vector_db").mkdir()
    assert off(tmp_path) == {}


@pytest.mark.parametrize("content", [b"no database" * 999, b"", None], ids=["text", "empty", "missing"])
def test_a_file_that_cannot_be_opened_is_off(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "memory.db").write_bytes(content)
    found = off(tmp_path)
    assert list(found) == ["database"]
    assert "memory.db" in found["database"]
    assert "\n" not in found["database"]


def test_damage_in_the_middle_of_the_checks_is_off(database: sqlite3.Connection, tmp_path: Path) -> None:
    database.execute("DROP TABLE vector_queue")
    assert "vector_queue" in off(tmp_path)["database"]


def test_a_damaged_file_is_seen(database: sqlite3.Connection, tmp_path: Path) -> None:
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    database.close()
    path = tmp_path / "memory.db"
    content = bytearray(path.read_bytes())
    content[-4096 * 8 : -4096] = b"\x55" * (4096 * 7)
    path.write_bytes(content)
    found = off(tmp_path)
    assert "database" in found
    assert "\n" not in found["database"]


def test_a_changed_ledger_is_seen(database: sqlite3.Connection, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.append(9, "run", {"messages": 1}, {}, NOW)
    assert off(tmp_path) == {}
    ledger.path.write_text(ledger.path.read_text().replace('"messages":1', '"messages":2'))
    assert off(tmp_path) == {"ledger": "line 1 was changed"}
    assert "compare it with the receipts" in str(mend_of(tmp_path, "ledger"))


def test_a_key_that_others_can_read_is_seen_with_what_to_do(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    Ledger(tmp_path).append(9, "run", {"messages": 1}, {}, NOW)
    (tmp_path / "erasures.key").chmod(0o640)
    assert off(tmp_path) == {"ledger": "erasures.key can be read by others"}
    assert mend_of(tmp_path, "ledger") == "bot.py verify --fix"


def test_an_erasure_that_nobody_finishes_is_seen(database: sqlite3.Connection, tmp_path: Path) -> None:
    (tmp_path / "erasing-0a1b.npz").write_bytes(b"")
    assert off(tmp_path) == {"erasures": "1 begun and not finished, 0 in the queue"}
    assert "erase ID --yes" in str(mend_of(tmp_path, "erasures"))
    transact(database, jobs.enqueue, "erase", "9", to_micros(NOW), user_id=9)
    assert off(tmp_path) == {}, "while it is in the queue, all is well"


def test_without_an_embedding_model_nothing_waits_for_vectors(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    database.execute("DELETE FROM embeddings")
    with closing(connect_reader(tmp_path / "memory.db")) as connection:
        assert all(check.ok for check in verify(connection, tmp_path, with_vectors=False))


def test_a_check_says_no_content() -> None:
    assert Check("keywords", False, "1 messages (2) without keywords", "bot.py verify --fix").as_dict() == {
        "check": "keywords",
        "ok": False,
        "detail": "1 messages (2) without keywords",
        "mend": "bot.py verify --fix",
    }
