"""The archive by way of the real program: a chat archives, finds and keeps what it should, commands look into it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from tests.archive.tools import rows
from tests.cli.program import bot

QUIET = {
    "EMBEDDING_MODEL": "none",
    "RETENTION_DAYS": "30",
    "MAX_MESSAGES": "1",
    "STM_SIZE": "1",
    "LTM_SIZE": "0",
}
LONG_AGO = datetime.now(UTC) - timedelta(days=90)


async def test_a_chat_archives_and_finds_what_a_command_finds_too(data_dir: Path) -> None:
    async with MemoryManager(load_settings()) as memory:
        for number in range(3):
            text = f"my heron-{number}-violet sleeps"
            await memory.save_message(1, "user", text, created_at=LONG_AGO + timedelta(minutes=number))
        await memory.save_message(1, "user", "good morning", created_at=datetime.now(UTC))
    assert bot("chat", stdin="/stats\n", **QUIET).status == 0
    assert rows(data_dir, "SELECT content FROM messages") == [("good morning",)]
    told = bot("chat", stdin="/search --archive heron\n/search heron\n/search --archive stork\n", **QUIET)
    assert "archive" in told.out and told.out.count("heron-1-violet") == 1
    assert told.out.count("Nothing in memory") == 2

    found = bot("search", "1", "heron-2-violet", "--archive", "--json", **QUIET)
    assert found.status == 0
    best, *others = json.loads(found.out)
    assert (best["content"], best["archived"], len(others)) == ("my heron-2-violet sleeps", True, 2)
    assert "(archived)" in bot("search", "1", "heron", "--archive", **QUIET).out
    assert bot("search", "2", "heron", "--archive", **QUIET).status == 1

    (data_dir / "archive" / next((data_dir / "archive").iterdir()).name.replace(".0.", ".7.")).write_bytes(
        b"x"
    )
    checked = bot("verify", **QUIET)
    assert (checked.status, "OFF archive" in checked.out, "--fix" in checked.out) == (1, True, True)
    assert bot("verify", "--fix", **QUIET).status == 0
    assert len(list((data_dir / "archive").iterdir())) == 1


def test_without_its_extra_it_ends_with_one_line(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n\n\n"
        "class WithoutPyarrow:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pyarrow':\n"
        "            raise ModuleNotFoundError(name)\n\n\n"
        "sys.meta_path.insert(0, WithoutPyarrow())\n"
    )
    ended = bot("chat", PYTHONPATH=str(tmp_path), **QUIET)
    assert (ended.status, ended.out) == (2, "")
    assert "RETENTION_DAYS" in ended.remark and "EXTRAS=archive" in ended.remark
    assert not (data_dir / "memory.db").exists()
    assert bot("chat", PYTHONPATH=str(tmp_path), RETENTION_ACTION="delete", **QUIET).status == 0
