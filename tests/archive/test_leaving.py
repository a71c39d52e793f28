"""Older messages leave memory.db whole, for an archive that only their person's key opens, or for good."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from handlers.facts import noted
from handlers.why import reason_lines
from keepsake.cli import out
from keepsake.clock import to_micros
from keepsake.models import AnswerEvent, FactDraft, ItemKind
from keepsake.store import facts
from keepsake.store.archive import leaving
from keepsake.store.database import connect_reader
from keepsake.verify import verify_folder
from tests.archive.tools import ANN, BOB, NEW, NOW, OLD, bytes_of, files, filled, found, manager, rows, tell


async def test_what_is_old_leaves_and_is_found_in_the_archive_by_its_person_only(data_dir: Path) -> None:
    old = await filled()
    assert [
        row[0] for row in rows(data_dir, "SELECT content FROM messages WHERE user_id = 11 ORDER BY id")
    ] == [
        "good morning to you",
        "and how are you today",
    ]
    content = bytes_of(data_dir)
    assert all(secret.encode() not in content and secret[:14].encode() not in content for secret in old)
    assert b"heron" not in content and b"PAR1" not in content
    assert len(files(data_dir)) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(data_dir)} == {0o600}
    async with manager() as memory:
        assert sorted(await found(memory, ANN, "violet heron")) == old
        assert (await found(memory, ANN, "heron-3-violet"))[0] == old[3]
        assert await found(memory, BOB, "heron violet garden") == []
        assert await found(memory, BOB, "parrot") == ["Bob's parrot-77-green talks at night"]
        assert await memory.find(ANN, "heron violet") == []
        stats = await memory.get_memory_stats(ANN)
        assert (stats["total_messages"], stats["archived_messages"]) == (2, 5)
        assert [session.message_count for session in await memory.get_sessions(ANN)] == [5, 2]
    assert [
        check for check in verify_folder(data_dir / "memory.db", data_dir, with_vectors=False) if not check.ok
    ] == []


async def test_a_message_comes_back_as_it_was(data_dir: Path) -> None:
    moment = NOW - timedelta(days=40, microseconds=7)
    async with manager() as memory:
        saved = await memory.save_message(
            ANN, "user", "Ein Fuchs 🦊\nund mehr", created_at=moment, sender="Zoë", sender_id="77"
        )
        await tell(memory, ANN, ["one", "two"], said=NEW)
    async with manager() as memory:
        await memory.flush()
        assert [message for message, _ in await memory.search_archive(ANN, "fuchs", 5)] == [saved]


async def test_delete_leaves_no_word_and_no_summary(data_dir: Path) -> None:
    async with manager(retention_days=0) as memory:
        ids = await tell(memory, ANN, ["heron-1-violet sleeps", "heron-2-violet wakes"])
        await tell(memory, ANN, ["hello again", "and hello"], said=NEW)
        engine = await memory.engine()
        await engine.storage.database.write(
            lambda connection: connection.execute(
                "INSERT INTO summaries (user_id, first_id, last_id, said_at, content) VALUES (?, ?, ?, 0, ?)",
                (ANN, ids[0], ids[1], "they spoke of heron birds"),
            )
        )
    async with manager(retention_action="delete") as memory:
        await memory.flush()
        engine = await memory.engine()
        await engine.storage.database.checkpoint()
        assert [session.message_count for session in await memory.get_sessions(ANN)] == [2]
    assert b"heron" not in bytes_of(data_dir)
    assert rows(data_dir, "SELECT count(*) FROM summaries") == [(0,)]
    assert files(data_dir) == []


async def test_what_was_not_looked_at_stays(data_dir: Path) -> None:
    """Neither beyond what extraction has read, nor from where a summary is being waited for."""
    async with manager(retention_days=0) as memory:
        ids = await tell(memory, ANN, [f"number {one}" for one in range(6)])
        await tell(memory, ANN, ["hello again", "and hello"], said=NEW)
        database = (await memory.engine()).storage.database
        await database.write(facts.move_cursor, ANN, ids[3])
        await database.write(
            lambda connection: connection.execute(
                "INSERT INTO summaries (user_id, first_id, last_id, said_at) VALUES (?, ?, ?, 0)",
                (ANN, ids[2], ids[4]),
            )
        )
        rules = (await memory.engine()).archive.rules()
    connection = connect_reader(data_dir / "memory.db")
    rules = replace(rules, before=to_micros(NOW))
    assert [one.message.id for one in leaving(connection, ANN, replace(rules, waits_for_facts=True))] == ids[
        :2
    ]
    assert [one.message.id for one in leaving(connection, ANN, replace(rules, waits_for_facts=False))] == ids[
        :2
    ]
    assert [
        one.message.id for one in leaving(connection, ANN, replace(rules, waits_for_facts=True, summaries=0))
    ] == ids[:4]
    connection.close()


async def test_a_fact_keeps_its_source_and_says_that_it_is_archived(data_dir: Path) -> None:
    async with manager(retention_days=0) as memory:
        ids = await tell(memory, ANN, ["I live in Angarsk"])
        answered = await tell(memory, ANN, ["hello again", "and hello"], said=NEW)
        database = (await memory.engine()).storage.database
        draft = FactDraft("Lives in Angarsk", tuple(ids), quote="I live in Angarsk")
        number = await database.write(facts.insert, ANN, draft, to_micros(NOW))
        given: tuple[tuple[ItemKind, int, float], ...] = (("fact", number, 0.9), ("message", ids[0], 0.8))
        await memory.record_answer(AnswerEvent(ANN, answered[0], answered[1], "model", 5, memories=given))
    async with manager() as memory:
        await memory.flush()
        (fact,) = await memory.get_facts(ANN)
        reasons = await memory.why(ANN)
    assert fact.message_ids == fact.archived_ids == tuple(ids)
    assert "(archived)" in noted("en", fact) and "archived" in out.fact_lines([fact])[0]
    assert reasons is not None
    of_fact, of_message = (reason_lines("en", reason) for reason in reasons)
    assert "archive" in of_fact[1] and f"{OLD:%Y-%m-%d}" in of_fact[1]
    assert "archive" in of_message[0] and f"{OLD:%Y-%m-%d}" in of_message[0]


@pytest.mark.parametrize("place", ["memory://archive-of-a-test", "file"])
async def test_an_fsspec_url_serves_as_well(data_dir: Path, tmp_path: Path, place: str) -> None:
    url = (tmp_path / "elsewhere").as_uri() if place == "file" else place
    old = await filled(archive_url=url)
    assert not (data_dir / "archive").exists()
    async with manager(archive_url=url) as memory:
        assert sorted(await found(memory, ANN, "heron")) == old
        await memory.begin_erasure(ANN)
        await memory.flush()
    if place == "file":
        assert len(list((tmp_path / "elsewhere").iterdir())) == 1


async def test_a_place_that_cannot_be_written_costs_nothing(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data_dir.mkdir()
    (data_dir / "archive").write_text("no folder")
    old = await filled()
    assert rows(data_dir, "SELECT count(*) FROM messages") == [(10,)]
    assert "cannot be read or written" in caplog.text
    (data_dir / "archive").unlink()
    async with manager() as memory:
        await memory.flush()
        assert sorted(await found(memory, ANN, "heron")) == old
