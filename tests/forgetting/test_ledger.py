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


def test_a_key_that_is_damaged_or_gone_is_told_and_no_other_takes_its_place(folder: Path) -> None:
    ledger = three_lines(folder)
    ledger.hold(USER, "court order 17", NOW)
    key = folder / "erasures.key"
    kept = key.read_bytes()
    key.write_bytes(b"not hex")
    assert ["damaged" in line for line in ledger.check()] == [True]
    key.unlink()
    assert ["missing" in line for line in ledger.check()] == [True]
    with pytest.raises(DataDirError, match="missing"):
        ledger.held(USER)
    assert not key.exists()
    key.write_bytes(kept)
    key.chmod(0o600)
    assert ledger.check() == []
    assert ledger.held(USER) == "court order 17"


@pytest.mark.parametrize("name", ["erasures.jsonl", "erasures.key"])
def test_a_folder_in_the_place_of_a_file_is_told(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    ledger = Ledger(folder)
    assert [name in line for line in ledger.check()] == [True]
    with pytest.raises(DataDirError, match=name):
        ledger.append(USER, "run", {}, {}, NOW)


def test_an_empty_folder_is_a_whole_chain(folder: Path) -> None:
    assert Ledger(folder).check() == []
    assert list(folder.iterdir()) == [], "checking makes nothing"


def test_a_cut_off_end_is_seen_by_who_remembers_it(folder: Path) -> None:
    ledger = three_lines(folder)
    end = ledger.end()
    assert end is not None
    assert ledger.check(end) == []
    lines = ledger.path.read_text().splitlines(keepends=True)
    ledger.path.write_text("".join(lines[:2]))
    assert ledger.check() == []
    assert ledger.check(end) == ["line 3, which memory.db knows of, is gone: the end was cut off"]
    ledger.append(USER, "another", {}, {}, NOW)
    assert not ledger.knows(end), "another line in its place is not that line"


def test_a_key_that_others_can_read_is_told(folder: Path) -> None:
    ledger = three_lines(folder)
    (folder / "erasures.key").chmod(0o644)
    assert ledger.check() == ["erasures.key can be read by others"]
    assert ledger.close_key()
    assert ledger.check() == []
    assert not ledger.close_key()


def test_holds_and_their_ends_stand_in_the_chain_and_name_nobody(folder: Path) -> None:
    ledger = three_lines(folder)
    assert ledger.held(USER) is None
    ledger.hold(USER, "court order 17", NOW)
    assert ledger.held(USER) == "court order 17"
    assert ledger.held(USER + 1) is None
    ledger.append(USER + 1, "run-9", {}, {}, NOW)
    assert ledger.held(USER) == "court order 17"
    ledger.release(USER, "the case is closed", NOW)
    assert ledger.held(USER) is None
    assert ledger.check() == []
    assert str(USER) not in ledger.path.read_text()
    found = ledger.find(USER)
    assert found is not None
    assert found.seq == 1, "a hold is no erasure"


def test_who_was_erased_after_a_line(folder: Path) -> None:
    ledger = three_lines(folder)
    ledger.hold(USER + 7, "court", NOW)
    assert ledger.erased_after(1) == {ledger.subject(USER + 1), ledger.subject(USER + 2)}
    assert ledger.erased_after(4) == set()


def test_a_receipt_is_genuine_as_it_was_given_and_in_no_other_form(folder: Path) -> None:
    ledger = three_lines(folder)
    ledger.hold(USER, "court", NOW)
    second = ledger.find(USER + 1)
    assert second is not None
    receipt = json.loads(json.dumps(second.as_dict()))
    assert ledger.fault_of(receipt) is None
    for name in receipt:
        changed = {**receipt, name: 9 if isinstance(receipt[name], int) else "x"}
        assert ledger.fault_of(changed) is not None, name
        assert ledger.fault_of({key: value for key, value in receipt.items() if key != name}) is not None
    odds: list[object] = [
        None,
        [],
        3,
        {},
        {**receipt, "more": 1},
        {**receipt, "seq": 4},
        {**receipt, "seq": True},
    ]
    for odd in odds:
        assert ledger.fault_of(odd) is not None, odd
    ledger.path.write_text(ledger.path.read_text().replace('"messages":1', '"messages":2'))
    assert "damaged" in str(ledger.fault_of(receipt))
