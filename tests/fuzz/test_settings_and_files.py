"""Settings, backups, the ledger and receipts, of any content: a result, or an error of ours."""

from __future__ import annotations

import asyncio
import json
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
from keepsake.settings import Settings, load_settings
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
lines = st.builds("{}={}\n".format, st.sampled_from(NAMES), setting_values)


@QUICK
@given(st.dictionaries(st.sampled_from(NAMES), setting_values, min_size=1, max_size=4))
def test_settings_are_taken_or_refused(chosen: dict[str, str]) -> None:
    read_settings(chosen)


@pytest.mark.soak
@pytest.mark.timeout(3000)
@LONG
@given(st.dictionaries(st.sampled_from(NAMES), setting_values, min_size=1, max_size=4))
def test_settings_for_longer(chosen: dict[str, str]) -> None:
    read_settings(chosen)


def read_settings(chosen: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in chosen.items():
            environment.setenv(name, value)
        try:
            load_settings()
        except SettingError as error:
            in_one_line(error)


@QUICK
@given(
    st.one_of(st.binary(max_size=200), st.lists(lines, max_size=5).map(lambda some: "".join(some).encode()))
)
def test_an_env_file_is_read_or_refused(content: bytes) -> None:
    file = Path(".env")
    file.write_bytes(content)
    mistyped_names()
    try:
        load_settings()
    except SettingError as error:
        in_one_line(error)
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


def try_restore(folder: Path, file: Path, content: bytes) -> None:
    """A backup that is taken leaves a memory that can be read; of one that is not the old memory stays."""
    database = folder / "memory.db"
    before = database.read_bytes()
    file.write_bytes(content)
    try:
        look_at(file)
        put_back(file, database)
    except KeepsakeError as error:
        in_one_line(error)
        assert database.read_bytes() == before
    else:
        assert {check.check for check in verify_folder(database, folder)} >= {"database", "ledger"}
        tidy(database)


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
def test_a_damaged_backup_is_refused_or_whole(count: settings, tmp_path: Path) -> None:
    folder, whole = a_backup(tmp_path)

    @count
    @given(st.one_of(damaged(whole), st.binary(max_size=200), st.just(whole)))
    def damage(content: bytes) -> None:
        try_restore(folder, tmp_path / "given", content)

    damage()


def a_ledger(folder: Path) -> tuple[Ledger, bytes, dict[str, object]]:
    ledger = Ledger(folder)
    ledger.hold(6, "a lawsuit", NOW)
    receipt = ledger.append(5, "run", {"messages": 3}, {}, NOW)
    ledger.release(6, "it is over", NOW + timedelta(days=1))
    return ledger, ledger.path.read_bytes(), receipt.as_dict()


def use_ledger(ledger: Ledger, content: bytes) -> None:
    """All that is read of a ledger, whatever stands in it."""
    ledger.path.write_bytes(content)
    anchor_line = Anchor(2, "ab")
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
            in_one_line(error)


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
def test_a_ledger_of_any_content_is_read(count: settings, data_dir: Path) -> None:
    data_dir.mkdir()
    ledger, whole, _ = a_ledger(data_dir)
    rows = [json.loads(line) for line in whole.splitlines()]
    other = st.lists(st.one_of(*map(changed, rows), values), max_size=4).map(
        lambda some: b"".join(json.dumps(one).encode() + b"\n" for one in some)
    )

    @count
    @given(st.one_of(damaged(whole), other, deep.map(lambda text: text.encode() + b"\n")))
    def read(content: bytes) -> None:
        use_ledger(ledger, content)

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
