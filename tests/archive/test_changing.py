"""What is archived can still be forgotten, changed, erased, backed up and checked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepsake.archive.check import check_archive
from keepsake.clock import to_micros
from keepsake.errors import ErasureHeld
from keepsake.forgetting.ledger import NOT_COVERED, Ledger
from keepsake.forgetting.removal import Replied
from keepsake.models import FactDraft
from keepsake.portability.backup import back_up, put_back
from keepsake.settings import load_settings
from keepsake.store import facts
from tests.archive.tools import ANN, BOB, NEW, NOW, OLD, bytes_of, files, filled, found, manager, rows, tell


def erased(data_dir: Path) -> dict[str, object]:
    line = Ledger(data_dir).path.read_text(encoding="utf-8").splitlines()[-1]
    receipt: dict[str, object] = json.loads(line)
    return receipt


async def test_an_edit_reaches_the_archive(data_dir: Path) -> None:
    old = await filled()
    (key,) = rows(
        data_dir, "SELECT key FROM archived_messages WHERE user_id = 11 ORDER BY message_id LIMIT 1"
    )
    before = files(data_dir)
    async with manager() as memory:
        assert await memory.edit_message(ANN, key[0], "a stork, not what I said") is None
        assert sorted(await found(memory, ANN, "heron stork")) == old[1:], "not found before it is written"
        await memory.flush()
        assert sorted(await found(memory, ANN, "heron stork")) == ["a stork, not what I said", *old[1:]]
        assert await memory.edit_message(99, key[0], "of somebody else") is None
        await memory.flush()
        assert "a stork, not what I said" in await found(memory, ANN, "stork")
    assert len(set(files(data_dir)) - set(before)) == 1 and len(files(data_dir)) == 2
    assert rows(data_dir, "SELECT text FROM archived_messages WHERE text IS NOT NULL") == []


async def test_a_message_is_forgotten_with_what_came_from_it_alone(data_dir: Path) -> None:
    async with manager(retention_days=0) as memory:
        ids = await tell(memory, ANN, ["the heron is violet", "the garden is green"])
        await tell(memory, ANN, ["hello again", "and hello"], said=NEW)
        database = (await memory.engine()).storage.database
        for content, sources in (("Has a violet heron", ids[:1]), ("Likes colours", ids)):
            await database.write(facts.insert, ANN, FactDraft(content, tuple(sources)), to_micros(NOW))
        await database.write(
            lambda connection: connection.execute(
                "INSERT INTO summaries (user_id, first_id, last_id, said_at, content) VALUES (?, ?, ?, 0, ?)",
                (ANN, *ids, "a heron, a garden"),
            )
        )
    async with manager() as memory:
        await memory.flush()
        assert rows(data_dir, "SELECT content FROM summaries") == [("a heron, a garden",)]
        archive = (await memory.engine()).archive
        assert await archive.remove(BOB, ids) == 0
        assert await archive.remove(ANN, ids[:1]) == 1
        await memory.flush()
        assert await found(memory, ANN, "heron garden") == ["the garden is green"]
        assert [(fact.content, fact.message_ids) for fact in await memory.get_facts(ANN)] == [
            ("Likes colours", (ids[1],))
        ]
    assert rows(data_dir, "SELECT content FROM summaries WHERE content LIKE '%heron%'") == []
    assert rows(data_dir, "SELECT message_id FROM archived_messages") == [(ids[1],)]


async def test_forget_as_a_reply_reaches_what_is_archived(data_dir: Path) -> None:
    said = await filled()
    reply = Replied(f"{OLD:%d %H:%M}", ANN, 1)
    async with manager() as memory:
        removal = await memory.removal()
        assert not await removal.forget_archived(ANN, Replied("another key", ANN, 1))
        assert await removal.forget_archived(ANN, reply)
        await memory.flush()
        assert sorted(await found(memory, ANN, "heron")) == said[1:]
        assert not await removal.forget_archived(ANN, reply)
        assert await found(memory, BOB, "parrot")
        engine = await memory.engine()
        engine.forgetting.ledger.hold(BOB, "a lawsuit", NOW)
        with pytest.raises(ErasureHeld):
            await removal.forget_archived(BOB, reply)
    assert b"heron-0-violet" not in bytes_of(data_dir)


async def test_erasing_destroys_the_key_and_the_files(data_dir: Path) -> None:
    await filled()
    ((key,),) = rows(data_dir, "SELECT key FROM archive_keys WHERE user_id = 11")
    names = [row[0] for row in rows(data_dir, "SELECT name FROM archive_files WHERE user_id = 11")]
    async with manager() as memory:
        await memory.begin_erasure(ANN)
        await memory.flush()
        assert await found(memory, BOB, "parrot") == ["Bob's parrot-77-green talks at night"]
    content = bytes_of(data_dir)
    assert key.encode() not in content and bytes.fromhex(key) not in content
    assert [path for path in files(data_dir) if path.name in names] == []
    assert len(files(data_dir)) == 1
    receipt = erased(data_dir)
    assert (receipt["left"], receipt["not_covered"]) == (0, list(NOT_COVERED))
    counts = receipt["counts"]
    assert isinstance(counts, dict)
    assert (counts["archived_messages"], counts["archive_files"], counts["archive_keys"]) == (5, 1, 1)


async def test_files_that_cannot_be_reached_are_told_of_and_deleted_later(data_dir: Path) -> None:
    await filled()
    (data_dir / "archive").rename(data_dir.with_name("unmounted"))
    (data_dir / "archive").write_text("nothing is mounted here")
    async with manager() as memory:
        await memory.begin_erasure(ANN)
        await memory.flush()
    assert "1 encrypted files of the archive that could not be reached" in str(
        erased(data_dir)["not_covered"]
    )
    (data_dir / "archive").unlink()
    data_dir.with_name("unmounted").rename(data_dir / "archive")
    async with manager() as memory:
        await memory.flush()
    assert len(files(data_dir)) == 1
    assert rows(data_dir, "SELECT user_id FROM archive_files") == [(BOB,)]


async def test_an_older_backup_doubles_nothing_and_loses_nothing(data_dir: Path, tmp_path: Path) -> None:
    """A backup from before the messages left, put back after; then the newer one after all."""
    async with manager(retention_days=0) as memory:
        await tell(memory, ANN, ["the heron is violet", "the garden is green"])
        await tell(memory, ANN, ["hello again", "and hello"], said=NEW)
    database, before, after = data_dir / "memory.db", tmp_path / "before.db", tmp_path / "after.db"
    back_up(database, before, now=datetime.now(UTC))
    async with manager() as memory:
        await memory.flush()
    back_up(database, after, now=datetime.now(UTC))
    put_back(before, database)
    assert "1 files that memory.db does not know" in detail()
    async with manager() as memory:
        await memory.flush()
        assert sorted(await found(memory, ANN, "heron garden")) == [
            "the garden is green",
            "the heron is violet",
        ]
    assert len(files(data_dir)) == 2
    put_back(after, database)
    async with manager() as memory:
        await memory.flush()
        assert sorted(await found(memory, ANN, "heron garden")) == [
            "the garden is green",
            "the heron is violet",
        ]
        assert await (await memory.engine()).archive.delete_strays() == 1
    assert detail() == "1 files"


async def test_an_older_backup_finds_files_that_were_written_anew(data_dir: Path, tmp_path: Path) -> None:
    old = await filled()
    back_up(data_dir / "memory.db", tmp_path / "copy.db", now=datetime.now(UTC))
    async with manager() as memory:
        (message, _), *_rest = await memory.search_archive(ANN, "heron-3-violet", 1)
        await (await memory.engine()).archive.remove(ANN, [message.id])
        await memory.flush()
    put_back(tmp_path / "copy.db", data_dir / "memory.db")
    async with manager() as memory:
        await memory.flush()
        assert sorted(await found(memory, ANN, "heron")) == [*old[:3], old[4]], "what was forgotten stays so"
    assert detail() == "2 files"


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped", "swapped"])
async def test_verify_notices_each_damage(data_dir: Path, damage: str) -> None:
    await filled()
    assert detail() == "2 files"
    first, second = files(data_dir)
    content = first.read_bytes()
    if damage == "gone":
        first.unlink()
    elif damage == "cut":
        first.write_bytes(content[:-20])
    elif damage == "flipped":
        first.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    else:
        first.write_bytes(second.read_bytes())
    found = check_archive(load_settings())
    assert found is not None and not found.ok
    assert first.name in found.detail and second.name not in found.detail


def detail() -> str:
    found = check_archive(load_settings())
    assert found is not None
    return found.detail
