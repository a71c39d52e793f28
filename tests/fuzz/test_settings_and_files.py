"""Settings, backups, the ledger and receipts, of any content: a result, or an error of ours."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepsake.cli.readers import verify_receipt
from keepsake.errors import KeepsakeError, SettingError
from keepsake.forgetting import anchor
from keepsake.forgetting.ledger import Anchor, Ledger
from keepsake.mistyped import mistyped_names
from keepsake.portability.backup import back_up, look_at, put_back, tidy
from keepsake.settings import ENV_FILE, Settings, load_settings
from keepsake.store.database import connect_writer, transact
from keepsake.verify import verify_folder
from tests.forgetting.rows import NOW, fill
from tests.fuzz.strategies import LONG, QUICK, changed, damaged, deep, in_one_line, texts, values

NAMES = sorted(name.upper() for name in Settings.model_fields)
in_environment = texts.filter(lambda text: "\0" not in text).map(
    lambda text: text.encode("utf-8", "replace").decode()
)
setting_values = st.one_of(
    in_environment,
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["nan", "inf", "1e999", "1,2,3", "0x10", "1_000", "http://[", "https://a b", "*", "²", "٣", ",,"]
    ),
)
_HINT = re.compile(r"(\.env: )?\w+ is no setting; [A-Z_]+ is probably meant")
lines = st.builds("{}={}\n".format, st.sampled_from(NAMES), setting_values)


@QUICK
@given(st.dictionaries(st.sampled_from(NAMES), setting_values, min_size=1, max_size=4))
def test_settings_are_taken_or_refused(chosen: dict[str, str]) -> None:
    assert names_one_of(refusal(chosen), chosen)


@pytest.mark.soak
@pytest.mark.timeout(3000)
@LONG
@given(st.dictionaries(st.sampled_from(NAMES), setting_values, min_size=1, max_size=4))
def test_settings_for_longer(chosen: dict[str, str]) -> None:
    assert names_one_of(refusal(chosen), chosen)


def refusal(chosen: dict[str, str]) -> str | None:
    """What is said of settings that cannot be; None where they are taken."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in chosen.items():
            environment.setenv(name, value)
        try:
            load_settings()
        except SettingError as error:
            return str(error)
    return None


def names_one_of(told: str | None, names: Iterable[str]) -> bool:
    """Is nothing told, or a line that names one of these?"""
    return told is None or ("\n" not in told and any(name in told for name in names))


@QUICK
@given(
    st.one_of(st.binary(max_size=200), st.lists(lines, max_size=5).map(lambda some: "".join(some).encode()))
)
def test_an_env_file_is_read_or_refused(content: bytes) -> None:
    file = Path(ENV_FILE)
    file.write_bytes(content)
    try:
        assert names_one_of(refusal({}), [ENV_FILE, *NAMES])
        assert all(_HINT.fullmatch(line) for line in mistyped_names())
    finally:
        file.unlink()


def a_backup(tmp_path: Path) -> tuple[Path, bytes]:
    """A folder with a memory in it, and a backup's bytes."""
    folder = tmp_path / "from"
    folder.mkdir()
    with closing(connect_writer(folder / "memory.db")) as connection:
        transact(connection, fill, 5, ["the heron sleeps", "虾 và bò"])
    back_up(folder / "memory.db", tmp_path / "backup", now=NOW)
    return folder, (tmp_path / "backup").read_bytes()


def restored(file: Path, database: Path) -> bool:
    """Is the backup taken? Of one that is not somebody is told."""
    try:
        look_at(file)
        put_back(file, database)
    except KeepsakeError as error:
        in_one_line(error)
        return False
    return True


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
def test_a_damaged_backup_is_refused_or_whole(count: settings, tmp_path: Path) -> None:
    folder, whole = a_backup(tmp_path)
    database, file = folder / "memory.db", tmp_path / "given"

    @count
    @given(st.one_of(damaged(whole), st.binary(max_size=200), st.just(whole)))
    def damage(content: bytes) -> None:
        before = database.read_bytes()
        file.write_bytes(content)
        if restored(file, database):
            assert {check.check for check in verify_folder(database, folder)} >= {"database", "ledger"}
            tidy(database)
        else:
            assert database.read_bytes() == before

    damage()


def a_ledger(folder: Path) -> tuple[Ledger, bytes, dict[str, object]]:
    ledger = Ledger(folder)
    ledger.hold(6, "a lawsuit", NOW)
    receipt = ledger.append(5, "run", {"messages": 3}, {}, NOW)
    ledger.release(6, "it is over", NOW + timedelta(days=1))
    return ledger, ledger.path.read_bytes(), receipt.as_dict()


def refusals(ledger: Ledger) -> list[str]:
    """What is told where all of a ledger is read, whatever stands in it."""
    anchor_line = Anchor(2, "ab")
    told = []
    for call in (
        ledger.check,
        lambda: ledger.check(anchor_line),
        lambda: ledger.held(6),
        lambda: ledger.find(5),
        lambda: ledger.find(5, since=NOW),
        lambda: ledger.erased_after(0),
        ledger.end,
        lambda: ledger.end(datetime.now(UTC)),
        lambda: ledger.knows(anchor_line),
        lambda: anchor.stands(ledger, anchor_line),
        lambda: ledger.fault_of({"seq": 2}),
    ):
        try:
            call()
        except KeepsakeError as error:
            told.append(str(error))
    return told


def parsed(content: bytes) -> list[object]:
    """What stands in each line; what cannot be read as it stands."""
    found: list[object] = []
    for line in content.splitlines():
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError):
            found.append(line)
    return found


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
def test_a_ledger_of_any_content_is_read_and_what_was_changed_is_noticed(
    count: settings, data_dir: Path
) -> None:
    data_dir.mkdir()
    ledger, whole, _ = a_ledger(data_dir)
    rows, end = [json.loads(line) for line in whole.splitlines()], ledger.end()
    other = st.lists(st.one_of(*map(changed, rows), values), max_size=4).map(
        lambda some: b"".join(json.dumps(one).encode() + b"\n" for one in some)
    )

    @count
    @given(st.one_of(damaged(whole), other, deep.map(lambda text: text.encode() + b"\n")))
    def read(content: bytes) -> None:
        ledger.path.write_bytes(content)
        assert all("\n" not in line for line in refusals(ledger))
        assert ledger.check(end) or parsed(content) == parsed(whole)

    read()


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
def test_a_receipt_of_any_content_is_judged(count: settings, data_dir: Path) -> None:
    data_dir.mkdir()
    ledger, _, receipt = a_ledger(data_dir)
    assert ledger.fault_of(receipt) is None

    @count
    @given(st.one_of(changed(receipt), values))
    def judge(given_receipt: Any) -> None:
        genuine = given_receipt == receipt
        assert (ledger.fault_of(given_receipt) is None) == genuine

    judge()


@pytest.mark.parametrize("content", [b"[" * 20_000, b"\xff\xfe", b"", b"{}", b'{"seq": 1e400}', b"9" * 5000])
def test_a_key_or_a_receipt_file_that_cannot_be_read(content: bytes, data_dir: Path, tmp_path: Path) -> None:
    data_dir.mkdir()
    a_ledger(data_dir)
    (tmp_path / "receipt").write_bytes(content)
    assert asyncio.run(verify_receipt(load_settings(), tmp_path / "receipt")) == 1
    (data_dir / "erasures.key").write_bytes(content)
    with pytest.raises(KeepsakeError):
        Ledger(data_dir).subject(5)
