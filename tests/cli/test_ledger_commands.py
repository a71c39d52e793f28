"""Receipts, legal holds and the ledger, as commands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from keepsake.forgetting.ledger import Ledger
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from tests.cli.program import bot


@pytest.fixture(autouse=True)
def _keyword_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL", "none")


def said(*texts: str) -> None:
    """User 1 says the first text, user 2 the second."""

    async def save() -> None:
        async with MemoryManager(load_settings()) as memory:
            for user, text in enumerate(texts, 1):
                await memory.save_message(user, "user", text)

    asyncio.run(save())


async def erased(user: int) -> None:
    async with MemoryManager(load_settings()) as memory:
        await memory.begin_erasure(user)
        await memory.flush()


def test_a_receipt_is_checked_and_a_cut_off_ledger_is_noticed(data_dir: Path, tmp_path: Path) -> None:
    said("I am the first one", "I am the second one")
    receipt = tmp_path / "receipt.json"
    receipt.write_text(bot("erase", "1", "--yes").out)
    asyncio.run(erased(2))
    genuine = bot("verify-receipt", str(receipt))
    assert (genuine.status, genuine.out.startswith("genuine: erasure no. 1")) == (0, True)
    receipt.write_text(receipt.read_text().replace('"messages": 1', '"messages": 2'))
    assert (
        bot("verify-receipt", str(receipt)).remark == "not genuine: it says otherwise than the ledger: counts"
    )

    ledger = Ledger(data_dir).path
    ledger.write_text(ledger.read_text().splitlines(keepends=True)[0])
    said("somebody comes", "and another")  # a start does not hide it
    ended = bot("verify")
    assert ended.status == 1
    assert "OFF ledger: line 2, which memory.db knows of, is gone" in ended.out


def test_what_is_no_receipt_is_not_genuine_and_what_is_no_file_is_2(tmp_path: Path) -> None:
    (tmp_path / "receipt.json").write_bytes(b"\xff no JSON")
    ended = bot("verify-receipt", str(tmp_path / "receipt.json"))
    assert (ended.status, ended.remark) == (1, "not genuine: the ledger has no such line")
    assert bot("verify-receipt", str(tmp_path / "nothing")).status == 2


def test_a_held_person_is_not_erased_until_released(data_dir: Path) -> None:
    said("keep me for the court")
    beginning = bot("erase", "1", "--hold", "court order 17")
    held = json.loads(beginning.out)
    assert beginning.err == ""
    assert (held["seq"], held["held"], held["reason"]) == (1, True, "court order 17")
    refused = bot("erase", "1", "--yes")
    assert refused.status == 1
    assert "legal hold stands (court order 17)" in refused.remark
    assert "legal reasons" in bot("chat", stdin="/delete_me\n1\n").out
    assert bot("erase", "1", "--release", "the case is closed").status == 0
    assert bot("erase", "1", "--release", "no").remark == "keepsake: no legal hold stands for that person"

    ended = bot("chat", stdin="/delete_me\n1\nhello\n")
    assert "Receipt no. 3" in ended.out
    lines = Ledger(data_dir).path.read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["hold", "release", "erase"]
    assert json.loads(bot("stats", "1").out)["total_messages"] == 1, "what came later is a new beginning"


def test_a_hold_may_come_before_the_person_and_says_that_nothing_is_kept() -> None:
    said("somebody else")
    ended = bot("erase", "99", "--hold", "court order 18")
    assert ended.status == 0
    assert json.loads(ended.out)["held"] is True
    assert ended.remark.startswith("nothing is kept about that user yet")


@pytest.mark.parametrize("options", [["--hold", " "], ["--hold", "x", "--release", "y", "--yes"]])
def test_a_wrong_use_of_erase_is_2(options: list[str]) -> None:
    assert bot("erase", "1", *options).status == 2
