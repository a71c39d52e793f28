"""The chain of erasures: what may not happen to it, and what it may not say."""

from __future__ import annotations

import hashlib
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keepsake.errors import DataDirError
from keepsake.forgetting.ledger import Ledger

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
USER = 7_001_002_003


def three_lines(folder: Path) -> Ledger:
    ledger = Ledger(folder)
    for number in range(3):
        at = NOW + timedelta(days=number)
        ledger.append(USER + number, f"run-{number}", {"messages": number}, {}, at)
    return ledger


def test_receipts_follow_each_other(folder: Path) -> None:
    ledger = three_lines(folder)
    lines = [json.loads(line) for line in ledger.path.read_text().splitlines()]
    assert [line["seq"] for line in lines] == [1, 2, 3]
    assert lines[0]["prev"] == "0" * 64
    assert [line["prev"] for line in lines[1:]] == [line["sha256"] for line in lines[:-1]]
    assert ledger.check() == []


def test_it_says_nothing_about_the_person(folder: Path) -> None:
    ledger = three_lines(folder)
    content = ledger.path.read_text()
    assert str(USER) not in content
    assert hashlib.sha256(str(USER).encode()).hexdigest() not in content
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_another_folder_names_the_same_person_otherwise(folder: Path) -> None:
    (folder / "other").mkdir()
    assert Ledger(folder).subject(USER) == Ledger(folder).subject(USER)
    assert Ledger(folder).subject(USER) != Ledger(folder / "other").subject(USER)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_changed_line_is_seen(folder: Path, number: int) -> None:
    ledger = three_lines(folder)
    lines = ledger.path.read_text().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace('"left":0', '"left":9')
    ledger.path.write_text("".join(lines))
    assert ledger.check() == [f"line {number} was changed"]


def test_a_missing_line_is_seen(folder: Path) -> None:
    ledger = three_lines(folder)
    lines = ledger.path.read_text().splitlines(keepends=True)
    ledger.path.write_text(lines[0] + lines[2])
    assert ledger.check() == ["line 2 does not follow the one before it"]


def test_what_is_no_json_is_seen(folder: Path) -> None:
    ledger = three_lines(folder)
    ledger.path.write_text("nonsense\n" + ledger.path.read_text())
    assert ledger.check() == ["line 1 cannot be read"]


def test_a_line_that_a_power_cut_left_half_written_never_counted(folder: Path) -> None:
    ledger = three_lines(folder)
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content + content[:40])
    assert ledger.check() == []
    assert ledger.append(1, "run-4", {}, {}, NOW).seq == 4
    assert ledger.check() == []


def test_finds_the_newest_line_of_a_person(folder: Path) -> None:
    ledger = three_lines(folder)
    again = ledger.append(USER, "run-9", {"messages": 4}, {"memory.db": 12}, NOW + timedelta(days=9))
    assert ledger.find(USER) == again
    assert again.left == 12
    first = ledger.find(USER, erasure="run-0")
    assert first is not None
    assert first.seq == 1
    assert ledger.find(USER, since=NOW + timedelta(days=10)) is None
    assert ledger.find(USER + 99) is None


def test_a_missing_key_is_told(folder: Path) -> None:
    ledger = three_lines(folder)
    (folder / "erasures.key").unlink()
    assert ["erasures.key is missing" in line for line in ledger.check()] == [True]


def test_a_damaged_key_is_an_error_and_not_replaced(folder: Path) -> None:
    (folder / "erasures.key").write_text("not hex")
    with pytest.raises(DataDirError, match="damaged"):
        Ledger(folder).subject(USER)
    assert (folder / "erasures.key").read_text() == "not hex"


def test_an_empty_folder_is_a_whole_chain(folder: Path) -> None:
    assert Ledger(folder).check() == []
    assert list(folder.iterdir()) == [], "checking makes nothing"
