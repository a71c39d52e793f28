"""Every table and every owner's column is declared."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path, PurePosixPath

import pytest

from keepsake.forgetting import registry
from keepsake.settings import PROJECT_DIR
from keepsake.store.database import connect_writer, transact
from tests.forgetting.rows import fill

_LOOKS_LIKE_AN_OWNER = re.compile(r"(^|_)(user|owner|chat|sender|person|peer|member|author)(_id)?$")


@pytest.fixture
def fresh(folder: Path) -> sqlite3.Connection:
    return connect_writer(folder / "memory.db")


def tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_every_table_is_declared_and_every_declared_one_exists(fresh: sqlite3.Connection) -> None:
    assert tables(fresh) == {entry.name for entry in registry.TABLES}
    assert len(registry.TABLES) == len({entry.name for entry in registry.TABLES})


def test_a_column_that_looks_like_an_owner_is_used(fresh: sqlite3.Connection) -> None:
    forgotten = []
    for entry in registry.TABLES:
        for _, column, *_rest in fresh.execute(f"PRAGMA table_xinfo({entry.name})"):
            named = {name for name, _ in entry.also_names}
            used = re.search(rf"\b{column}\b", entry.owner or "") is not None
            if _LOOKS_LIKE_AN_OWNER.search(column) and not used and column not in named:
                forgotten.append(f"{entry.name}.{column}")
    assert forgotten == []


def test_every_text_column_of_people_is_looked_for(fresh: sqlite3.Connection) -> None:
    # Names of models, states and the like: words of the program.
    ours = {
        "category", "type", "status", "origin", "model", "prompt_version", "kind", "state", "key", "role",
        "handle", "language", "error", "memories", "predicate", "subject", "topic", "sender_id", "value", "name",
            "day",
        "what", "made_by", "digest",
    }  # fmt: skip
    unseen = []
    for entry in registry.owned():
        for _, column, kind, *_rest in fresh.execute(f"PRAGMA table_xinfo({entry.name})"):
            if kind in ("TEXT", "BLOB") and column not in {*ours, *entry.texts, *entry.vectors}:
                unseen.append(f"{entry.name}.{column}")
    assert unseen == []


def test_rows_that_refer_to_others_go_before_them(fresh: sqlite3.Connection) -> None:
    order = {entry.name: entry.order for entry in registry.owned()}
    for name in order:
        for reference in fresh.execute(f"PRAGMA foreign_key_list({name})"):
            assert order[name] < order[reference[2]], f"{name} refers to {reference[2]}"


def test_each_table_that_holds_nobodys_data_says_so(fresh: sqlite3.Connection) -> None:
    for entry in registry.TABLES:
        assert entry.holds
        if entry.owner is None and entry.erased_with is None:
            assert "nobody's" in entry.holds


def test_counts_are_of_one_person(fresh: sqlite3.Connection) -> None:
    transact(fresh, fill, 5, ["the first one said something", "and then something else"])
    transact(fresh, fill, 55, ["another person said this"])
    counts = registry.count_rows(fresh, 5)
    assert counts["messages"] == counts["keywords"] == 2
    assert counts["users"] == counts["jobs"] == counts["facts"] == 1
    assert registry.count_rows(fresh, 5_555) == dict.fromkeys(counts, 0)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("memory.db", True),
        ("memory.db-wal", True),
        ("vector_db/chroma.sqlite3", True),
        ("vector_db/1f/data_level0.bin", True),
        ("erasing-0a1b.npz", True),
        ("notes.txt", False),
        ("sub/memory.db", False),
        ("vector_db2/chroma.sqlite3", False),
    ],
)
def test_files_are_known_by_their_place(name: str, known: bool) -> None:
    assert registry.covered(PurePosixPath(name)) is known


def test_only_declared_files_are_read_in_the_programs_own_folder(folder: Path) -> None:
    (folder / "stray").mkdir()
    (folder / "stray" / "copy.txt").write_text("x")
    (folder / "link").symlink_to("/etc/hostname")
    assert {path.name for path in registry.files(folder)} == {"copy.txt"}
    assert {path.name for path in registry.files(PROJECT_DIR)}.isdisjoint({"pyproject.toml", "bot.py"})
