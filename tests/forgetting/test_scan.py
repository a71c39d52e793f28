"""What the scan finds, in whatever form it stands, and what it leaves to others."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.forgetting.needles import Needles, pieces
from keepsake.forgetting.scan import scan, traces
from keepsake.store.database import connect_writer, transact
from tests.forgetting.rows import fill

SECRET = bytes(range(32))
TEXT = "Мой пароль от сейфа — полынь-ветер-42, и никому"


@pytest.fixture
def database(folder: Path) -> sqlite3.Connection:
    return connect_writer(folder / "memory.db")


def needles_for(*texts: str) -> Needles:
    return Needles.build(SECRET, texts, [])


@pytest.mark.parametrize(
    "stored",
    [
        TEXT.encode(),
        TEXT.encode("utf-16-le"),
        json.dumps({"content": TEXT}).encode(),
        base64.b64encode(TEXT.encode()),
        base64.b64encode(b"1" + TEXT.encode()),
        base64.b64encode(b"12" + TEXT.encode()),
        base64.urlsafe_b64encode(b"12" + TEXT.encode()),
    ],
)
@pytest.mark.parametrize("offset", range(9))
def test_finds_every_encoding_at_every_place(
    folder: Path, database: sqlite3.Connection, stored: bytes, offset: int
) -> None:
    (folder / "stray.bin").write_bytes(b"\x01" * offset + stored + b"\x02" * offset)
    left = scan(folder, needles_for(TEXT), user_id=5)
    assert set(left) == {"stray.bin"}
    assert 12 <= left["stray.bin"] <= len(stored)


def test_a_file_without_traces_is_clean(folder: Path, database: sqlite3.Connection) -> None:
    (folder / "stray.bin").write_bytes(np.random.default_rng(1).bytes(1_000_000))
    assert scan(folder, needles_for(TEXT), user_id=5) == {}


def test_finds_pieces_that_lie_across_two_reads(folder: Path, database: sqlite3.Connection) -> None:
    needles = needles_for("a sentence to look for")
    for offset in range(40, 80):
        (folder / "stray.bin").write_bytes(b"." * offset + b"a sentence to look for" + b"." * 200)
        assert scan(folder, needles, user_id=5, chunk=64) == {"stray.bin": 22}, offset


def test_holes_of_a_huge_file_are_passed_over(folder: Path, database: sqlite3.Connection) -> None:
    with (folder / "stray.bin").open("wb") as file:
        file.truncate(200 << 30)
        file.seek(100 << 30)
        file.write(b"a sentence to look for")
    assert scan(folder, needles_for("a sentence to look for"), user_id=5) == {"stray.bin": 22}


def test_what_others_wrote_too_is_theirs(folder: Path, database: sqlite3.Connection) -> None:
    shared, own = "good morning, how are you today?", "my locker code is heron-17-violet"
    transact(database, fill, 5, [shared, own])
    transact(database, fill, 6, [shared])
    needles = Needles.build(SECRET, *traces(database, 5))
    (folder / "shared.txt").write_text(shared)
    (folder / "own.txt").write_text(own)
    left = scan(folder, needles, user_id=5)
    assert left["own.txt"] >= 32
    assert "shared.txt" not in left
    assert left["memory.db-wal"] > 0, "nothing was erased yet"


def test_a_quoted_table_definition_is_the_programs(folder: Path, database: sqlite3.Connection) -> None:
    quoted = "CREATE TABLE messages (\n    id INTEGER PRIMARY KEY AUTOINCREMENT"
    assert database.execute(
        "SELECT count(*) FROM sqlite_schema WHERE instr(sql, ?)", (quoted,)
    ).fetchone() == (1,)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert scan(folder, needles_for(quoted), user_id=5) == {}


def test_finds_vectors_also_normalised_once_more(folder: Path, database: sqlite3.Connection) -> None:
    vector = np.random.default_rng(3).standard_normal(384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    needles = Needles.build(SECRET, [], [vector.tobytes()])
    again = vector * (np.float32(1.0) / (np.float32(np.linalg.norm(vector)) + np.float32(1e-30)))
    for stored in (vector, again):
        (folder / "level0.bin").write_bytes(b"\x00" * 7 + stored.tobytes())
        assert scan(folder, needles, user_id=5) == {"level0.bin": 72}


def test_short_and_monotonous_texts_are_not_looked_for() -> None:
    assert list(pieces("yes, please")) == []
    assert list(pieces("-" * 500)) == []
    assert next(pieces("see you there")) == "see you there"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=12, max_size=3000))
def test_pieces_are_of_the_text_and_reach_its_ends(text: str) -> None:
    found = list(pieces(text))
    assert all(piece in text and len(piece) >= 12 for piece in found)
    if len(set(text[:12])) >= 5 and len(set(text[-12:])) >= 5:
        assert text.startswith(found[0])
        assert text.endswith(found[-1])


@given(
    st.binary(max_size=60),
    st.sampled_from(["harvest moon over", "Ключ лежит под ковриком"]),
    st.binary(max_size=60),
)
def test_finds_what_is_there_and_nothing_else(before: bytes, text: str, after: bytes) -> None:
    needles = needles_for(text)
    assert list(needles.find(before + after)) == []
    found = {hit.position for hit in needles.find(before + text.encode() + after)}
    assert len(before) in found
