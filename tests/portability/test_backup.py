"""A backup is whole, is for its owner's eyes only, and never brings back whom somebody wanted forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepsake.cli import backups
from keepsake.cli.readers import check
from keepsake.errors import DatabaseError, FolderHeld, SettingError
from keepsake.forgetting.ledger import Ledger
from keepsake.lock import FolderLock
from keepsake.manager import MemoryManager
from keepsake.portability.backup import back_up, put_back
from keepsake.settings import Settings, load_settings
from tests.cli.program import RunningChat, bot

ANN, BOB = 11, 12


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a folder in which Ann and Bob have said something; keyword search only."""
    monkeypatch.setenv("EMBEDDING_MODEL", "none")
    settings = load_settings()
    asyncio.run(say(settings, {ANN: "my heron-17-violet parrot", BOB: "I drink tea"}))
    return settings


async def say(settings: Settings, said: dict[int, str]) -> None:
    async with MemoryManager(settings) as memory:
        for user, text in said.items():
            await memory.save_message(user, "user", text)


async def erase(settings: Settings, user: int) -> None:
    async with MemoryManager(settings) as memory:
        await memory.begin_erasure(user)
        await memory.flush()


def save(settings: Settings, file: Path, *, replace: bool = False) -> None:
    back_up(settings.database_path, file, now=datetime.now(UTC), replace=replace)


def load(settings: Settings, file: Path) -> None:
    assert asyncio.run(backups.restore(settings, file)) == 0


def held(settings: Settings) -> dict[int, list[str]]:
    with closing(sqlite3.connect(settings.database_path)) as connection:
        rows = connection.execute("SELECT user_id, content FROM messages ORDER BY id").fetchall()
    return {user: [text for of, text in rows if of == user] for user, _ in rows}


def off(settings: Settings) -> list[str]:
    return [item.detail for item in asyncio.run(check(settings)) if not item.ok]


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_beside_a_running_bot_and_back_as_commands(tmp_path: Path) -> None:
    file = tmp_path / "copy.db"
    with RunningChat(EMBEDDING_MODEL="none") as chat:
        saved = bot("backup", str(file))
        assert (saved.status, saved.out) == (0, f"{file}: 1 people, 1 messages\n")
        again = bot("backup", str(file))
        assert (again.status, "--force" in again.remark) == (2, True)
        assert bot("backup", str(file), "--force").status == 0
        chat.say("said after the backup")
        refused = bot("restore", str(file), "--yes")
        assert (refused.status, str(chat.process.pid) in refused.remark) == (3, True)
    assert bot("restore", str(file)).status == 2
    ended = bot("restore", str(file), "--yes", EMBEDDING_MODEL="none")
    assert ended.status == 0
    assert "1 people, 1 messages" in ended.out
    assert "the memory that was here before is removed" in ended.out
    assert held(load_settings()) == {1: ["hello there, are you awake?"]}


def test_a_copy_is_one_whole_file_for_its_owner_and_has_no_key(kept: Settings, tmp_path: Path) -> None:
    asyncio.run(erase(kept, BOB))
    (tmp_path / "out").mkdir()
    save(kept, tmp_path / "out" / "copy.db")
    save(kept, tmp_path / "out" / "copy.db", replace=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["copy.db"]
    assert stat.S_IMODE((tmp_path / "out" / "copy.db").stat().st_mode) == 0o600
    key = (kept.data_dir / "erasures.key").read_bytes()
    assert key not in (tmp_path / "out" / "copy.db").read_bytes()


def test_a_copy_made_while_others_write_is_consistent(kept: Settings, tmp_path: Path) -> None:
    async def both() -> None:
        async with MemoryManager(kept) as memory:
            writing = asyncio.create_task(_write(memory))
            for number in range(3):
                await asyncio.to_thread(save, kept, tmp_path / f"{number}.db")
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    asyncio.run(both())
    for number in range(3):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as copy:
            messages, keywords = copy.execute(
                "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM keywords)"
            ).fetchone()
            assert messages == keywords > 1
            assert copy.execute("PRAGMA foreign_key_check").fetchall() == []


async def _write(memory: MemoryManager) -> None:
    while True:
        await memory.save_message(ANN, "user", "and on and on it goes")


@pytest.mark.parametrize("name", ["data/copy.db", "nowhere/copy.db", "letter.txt"])
def test_a_place_that_cannot_be_is_refused_and_left_alone(kept: Settings, tmp_path: Path, name: str) -> None:
    (tmp_path / "letter.txt").write_text("a letter of mine")
    with pytest.raises(SettingError):
        save(kept, tmp_path / name)
    assert (tmp_path / "letter.txt").read_text() == "a letter of mine"
    assert not list(tmp_path.rglob("copy.db*"))


def test_whoever_was_erased_since_is_erased_again_and_nobody_else(
    kept: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ann was erased before the backup and came back; Bob was erased after it."""
    asyncio.run(erase(kept, ANN))
    asyncio.run(say(kept, {ANN: "I am back"}))
    save(kept, tmp_path / "copy.db")
    asyncio.run(erase(kept, BOB))
    load(kept, tmp_path / "copy.db")
    assert "1 of these people" in capsys.readouterr().out
    assert held(kept) == {ANN: ["I am back"]}
    assert b"I drink tea" not in bytes_of(kept.data_dir)
    assert off(kept) == []
    asyncio.run(say(kept, {BOB: "I am back too"}))
    asyncio.run(say(kept, {BOB: "and still here"}))
    assert held(kept)[BOB] == ["I am back too", "and still here"]
    assert len(Ledger(kept.data_dir).path.read_text().splitlines()) == 3


def test_memory_db_put_back_by_hand_replays_too(kept: Settings, tmp_path: Path) -> None:
    save(kept, tmp_path / "copy.db")
    asyncio.run(erase(kept, BOB))
    kept.database_path.write_bytes((tmp_path / "copy.db").read_bytes())
    asyncio.run(say(kept, {ANN: "hello"}))
    assert list(held(kept)) == [ANN]
    assert b"I drink tea" not in bytes_of(kept.data_dir)


def test_a_held_person_is_not_erased_again_before_the_hold_ends(kept: Settings, tmp_path: Path) -> None:
    save(kept, tmp_path / "copy.db")
    asyncio.run(erase(kept, BOB))
    Ledger(kept.data_dir).hold(BOB, "court", datetime.now(UTC))
    load(kept, tmp_path / "copy.db")
    assert BOB in held(kept)
    Ledger(kept.data_dir).release(BOB, "over", datetime.now(UTC))
    asyncio.run(erase(kept, BOB))
    assert BOB not in held(kept)


def test_in_another_folder_it_is_no_false_alarm(
    kept: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(erase(kept, BOB))
    save(kept, tmp_path / "copy.db")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "elsewhere"))
    settings = load_settings()
    load(settings, tmp_path / "copy.db")
    assert off(settings) == []
    assert list(held(settings)) == [ANN]


def test_a_ledger_that_was_cut_off_stays_one_after_a_restore(kept: Settings, tmp_path: Path) -> None:
    asyncio.run(erase(kept, BOB))
    save(kept, tmp_path / "copy.db")
    Ledger(kept.data_dir).path.write_bytes(b"")
    load(kept, tmp_path / "copy.db")
    assert ["cut off" in detail for detail in off(kept)] == [True]


@pytest.mark.parametrize("damage", ["cut", "newer", "foreign", "empty", "missing"])
def test_what_cannot_be_restored_changes_nothing(kept: Settings, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "copy.db"
    save(kept, file)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-8192])
    elif damage == "missing":
        file.unlink()
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        with closing(sqlite3.connect(file)) as connection:
            pragma = "user_version = 9999" if damage == "newer" else "application_id = 7"
            connection.execute(f"PRAGMA {pragma}")
    before = bytes_of(kept.data_dir)
    with pytest.raises((DatabaseError, SettingError)) as raised:
        asyncio.run(backups.restore(kept, file))
    assert str(file) in str(raised.value)
    assert bytes_of(kept.data_dir) == before
    with FolderLock(kept.data_dir):
        pass


def test_a_folder_that_is_held_is_left_alone(kept: Settings, tmp_path: Path) -> None:
    save(kept, tmp_path / "copy.db")
    with FolderLock(kept.data_dir), pytest.raises(FolderHeld):
        asyncio.run(backups.restore(kept, tmp_path / "copy.db"))


def test_the_former_memory_stays_aside_until_the_restored_one_was_opened(
    kept: Settings, tmp_path: Path
) -> None:
    save(kept, tmp_path / "copy.db")
    asyncio.run(say(kept, {ANN: "said since"}))
    put_back(tmp_path / "copy.db", kept.database_path)  # and then comes a kill
    aside = kept.data_dir / "memory.db.before-restore"
    with closing(sqlite3.connect(aside)) as former:
        assert former.execute("SELECT count(*) FROM messages").fetchone() == (3,)
    former_files = list(kept.data_dir.glob("memory.db.*"))
    assert former_files == [aside]
    asyncio.run(say(kept, {BOB: "after the next start"}))
    assert not list(kept.data_dir.glob("memory.db.*"))
    assert held(kept) == {ANN: ["my heron-17-violet parrot"], BOB: ["I drink tea", "after the next start"]}


def test_a_damaged_memory_is_no_hindrance(kept: Settings, tmp_path: Path) -> None:
    save(kept, tmp_path / "copy.db")
    kept.database_path.write_bytes(b"no database" * 1000)
    load(kept, tmp_path / "copy.db")
    assert off(kept) == []
    assert set(held(kept)) == {ANN, BOB}


def test_a_damaged_memory_is_not_backed_up(kept: Settings, tmp_path: Path) -> None:
    content = bytearray(kept.database_path.read_bytes())
    content[4096 * 3 : 4096 * 5] = bytes(8192)
    kept.database_path.write_bytes(content)
    with pytest.raises(DatabaseError, match="damaged"):
        save(kept, tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy.db*"))
