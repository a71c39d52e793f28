"""The Python door: what contract.md promises of `vector_memory`, with real SQLite, Chroma and embeddings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import vector_memory
from bot_models.user_state import StateManager
from keepsake.errors import DatabaseError, DataDirError, FolderHeld, SettingError
from keepsake.models import Message

ROOT = Path(__file__).resolve().parents[2]
EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-9))


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    await vector_memory.close()


async def test_what_was_saved_is_found_at_once_and_by_meaning() -> None:
    saved = await vector_memory.save_message(7, "user", "I work as a system administrator in Angarsk")
    await vector_memory.save_message(7, "user", "the cat sleeps in the garden all day")
    assert isinstance(saved, Message)
    by_word = await vector_memory.search_memory("7", "administrator")
    assert by_word[0][0] == saved
    await vector_memory.flush()
    by_meaning = await vector_memory.search_memory(7, "кем я работаю?")
    assert by_meaning[0][0] == saved
    assert all(0 <= score <= 1 for _, score in by_meaning)


async def test_stats_count_what_is_held() -> None:
    await vector_memory.save_message(7, "user", "one", created_at=datetime(2026, 3, 1, tzinfo=UTC))
    await vector_memory.save_message(7, "assistant", "two", created_at=datetime(2026, 3, 1, 0, 5, tzinfo=UTC))
    await vector_memory.save_message(7, "user", "three", created_at=datetime(2026, 3, 2, tzinfo=UTC))
    await vector_memory.flush()
    stats = await vector_memory.get_memory_stats(7)
    assert stats["total_sessions"] == 2
    assert stats["total_messages"] == 3
    assert stats["total_facts"] == 0
    assert stats["hybrid_mode"] is True
    assert stats["vector_documents"] == 3
    assert str(stats["vector_model"]).startswith("multilingual-e5-small")


async def test_the_block_holds_each_message_once_and_leaves_out_the_one_being_answered() -> None:
    for number in range(30):
        await vector_memory.save_message(7, "user" if number % 2 else "assistant", f"saying number {number}")
    asked = await vector_memory.save_message(7, "user", "what was saying number 3?")
    await vector_memory.flush()
    block = await vector_memory.get_context(7, asked.content, before=asked.id)
    lines = block.splitlines()
    assert asked.content not in block
    assert lines.index("💬 STM (RECENT MESSAGES):") + 6 == lines.index("🕰️ LTM (OLDER MESSAGES, CONDENSED):")
    for number in range(10, 30):
        assert sum(line.endswith(f": saying number {number}") for line in lines) == 1
    assert any(line.startswith("[") and line.endswith(": saying number 3") for line in lines)


async def test_sizes_of_the_block_are_arguments() -> None:
    for number in range(6):
        await vector_memory.save_message(7, "user", f"saying number {number}")
    block = await vector_memory.get_context(7, "hello", stm_size=2, ltm_size=1)
    assert "User: saying number 5" in block
    assert block.index("LTM (") < block.index("User: saying number 3")
    assert "User: saying number 2" not in block


async def test_history_is_restored_once() -> None:
    for number in range(25):
        await vector_memory.save_message(7, "user" if number % 2 else "assistant", f"saying {number}")
    await vector_memory.close()  # as a restart
    manager = StateManager()
    state = manager.get_state(7)
    assert not manager.is_history_loaded(7)
    assert await vector_memory.load_history_to_state(7, state, manager) == 20
    assert state.ai_chat_history[0] == "User: saying 5"
    assert state.ai_chat_history[-1] == "Assistant: saying 24"
    assert manager.is_history_loaded("7")
    assert await vector_memory.load_history_to_state(7, state, manager) == 0
    assert len(state.ai_chat_history) == 20


async def test_first_calls_at_once_open_once_and_restore_once() -> None:
    await vector_memory.save_message(7, "user", "hello")
    await vector_memory.close()
    manager = StateManager()
    state = manager.get_state(7)
    restored = await asyncio.gather(
        *(vector_memory.load_history_to_state(7, state, manager) for _ in range(5))
    )
    assert sorted(restored) == [0, 0, 0, 0, 1]
    assert state.ai_chat_history == ["User: hello"]


@pytest.mark.parametrize("user_id", [None, "", "abc", 1.5, True, "٣", 2**70, b"7"])
async def test_no_such_user(user_id: object) -> None:
    with pytest.raises(ValueError, match="user_id"):
        await vector_memory.save_message(user_id, "user", "hello")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="user_id"):
        await vector_memory.search_memory(user_id, "hello")  # type: ignore[arg-type]


async def test_no_such_role_content_or_time() -> None:
    with pytest.raises(ValueError, match="role"):
        await vector_memory.save_message(7, "system", "hello")
    for content in ("", "  \n\t "):
        with pytest.raises(ValueError, match="content"):
            await vector_memory.save_message(7, "user", content)
    with pytest.raises(ValueError, match="time zone"):
        await vector_memory.save_message(7, "user", "hello", created_at=datetime(2026, 3, 1))  # noqa: DTZ001
    assert (await vector_memory.get_memory_stats(7))["total_messages"] == 0


@pytest.mark.parametrize(
    "moment",
    [0, "", False, "2026-03-01", datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=WEST)],
)
async def test_no_such_moment(moment: object) -> None:
    with pytest.raises(ValueError, match="a time"):
        await vector_memory.save_message(7, "user", "hello", created_at=moment)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a time"):
        await vector_memory.search_memory(7, "hello", now=moment)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a time"):
        await vector_memory.get_context(7, "hello", now=moment)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [None, True, "5", 1.0, -(2**63) - 1, 2**63])
async def test_no_such_number(number: Any) -> None:
    with pytest.raises(ValueError, match="limit"):
        await vector_memory.search_memory(7, "hello", number)
    with pytest.raises(ValueError, match="stm_size"):
        await vector_memory.get_context(7, "hello", number)
    with pytest.raises(ValueError, match="ltm_size"):
        await vector_memory.get_context(7, "hello", 5, number)
    if number is not None:
        with pytest.raises(ValueError, match="before"):
            await vector_memory.get_context(7, "hello", before=number)


async def test_the_least_and_the_most_of_numbers() -> None:
    with pytest.raises(ValueError, match="limit"):
        await vector_memory.search_memory(7, "hello", 0)
    with pytest.raises(ValueError, match="stm_size"):
        await vector_memory.get_context(7, "hello", -1)
    most = 2**63 - 1
    saved = await vector_memory.save_message(7, "user", "hello there")
    assert (await vector_memory.search_memory(7, "hello", most))[0][0] == saved
    assert "hello there" in await vector_memory.get_context(7, "hello", most, most, before=most)
    assert await vector_memory.get_context(7, "hello", 0, 0, before=-most)


@pytest.mark.parametrize("sender_id", [True, 1.5, b"5", ["5"]])
async def test_no_such_sender(sender_id: Any) -> None:
    with pytest.raises(ValueError, match="sender_id"):
        await vector_memory.save_message(7, "user", "hello", sender_id=sender_id)
    with pytest.raises(ValueError, match="str"):
        await vector_memory.save_message(7, "user", "hello", sender=sender_id)


async def test_a_pair_of_surrogates_is_the_character_that_it_means() -> None:
    saved = await vector_memory.save_message(7, "user", "\ufeffsmile \ud83d\ude00, \ude00 and \ud83d")
    assert saved.content == "\ufeffsmile 😀, \ufffd and \ufffd"


@pytest.mark.parametrize(
    "content",
    ["x" * 100_000, "слово " * 20_000, "a\0b", "lone \ud800 surrogate", "\u202eright to left\u202c", "👩‍👩‍👧‍👦" * 500,
     "-", "NEAR(a b)", 'quo"te', "a OR b* NOT c", "%s {x} \\"],
)  # fmt: skip
async def test_odd_texts_are_kept_and_found(content: str) -> None:
    saved = await vector_memory.save_message(7, "user", content)
    await vector_memory.save_message(7, "user", "and now for something else")
    await vector_memory.flush()
    assert "\0" not in saved.content
    assert saved.content.encode()
    found = await vector_memory.search_memory(7, content)
    assert saved.id in [message.id for message, _ in found]
    assert await vector_memory.get_context(7, content)


async def test_a_group_has_a_negative_id_and_speakers() -> None:
    anna = await vector_memory.save_message(-100, "user", "I like tea", sender="Anna", sender_id=5)
    await vector_memory.save_message(-100, "user", "I like tea", sender="Boris", sender_id="6")
    found = await vector_memory.search_memory(-100, "what does Anna like?")
    assert found[0][0].sender == "Anna"
    assert anna.sender_id == "5"
    assert "User (Boris): I like tea" in await vector_memory.get_context(-100, "tea")


async def test_a_vague_question_is_looked_for_with_what_was_said_before() -> None:
    wanted = await vector_memory.save_message(7, "user", "The greenhouse project is due in May")
    for number in range(12):
        await vector_memory.save_message(7, "user", f"it was a quiet evening, number {number}")
    await vector_memory.flush()
    found = await vector_memory.search_memory(
        7, "and when was it?", history=["Tell me of the greenhouse project"]
    )
    assert found[0][0] == wanted


async def test_a_short_question_is_not_drowned_by_what_was_said_before() -> None:
    wanted = await vector_memory.save_message(7, "user", "I live in Angarsk and my cat is called Fluffy")
    for number in range(12):
        await vector_memory.save_message(7, "user", f"the weather on day {number} is fine")
    await vector_memory.flush()
    found = await vector_memory.search_memory(
        7,
        "what is the name of my cat?",
        history=["the weather on day 11 is fine", "Glad to hear it is fine!"],
    )
    assert found[0][0] == wanted


async def test_created_at_comes_back_to_the_microsecond() -> None:
    moment = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC) + timedelta(0)
    saved = await vector_memory.save_message(7, "user", "exact", created_at=moment)
    found = await vector_memory.search_memory(7, "exact")
    assert found[0][0].created_at == saved.created_at == moment


async def test_a_second_program_is_refused(data_dir: Path) -> None:
    await vector_memory.save_message(7, "user", "mine")
    code = "import asyncio, vector_memory; asyncio.run(vector_memory.get_memory_stats(7))"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert other.returncode == 1
    assert FolderHeld.__name__ in other.stderr


async def test_settings_are_read_at_each_opening(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    await vector_memory.save_message(7, "user", "in the first folder")
    await vector_memory.close()
    await vector_memory.close()
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "another"))
    assert (await vector_memory.get_memory_stats(7))["total_messages"] == 0
    await vector_memory.close()
    monkeypatch.setenv("STM_SIZE", "many")
    with pytest.raises(SettingError, match="STM_SIZE"):
        await vector_memory.get_memory_stats(7)


async def test_a_folder_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "file" / "data"))
    with pytest.raises(DataDirError):
        await vector_memory.get_memory_stats(7)


async def test_a_foreign_memory_db_is_refused_and_left_alone(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "memory.db").write_text(
        "dear diary, today I wrote a text file and called it a database. " * 50
    )
    with pytest.raises(DatabaseError):
        await vector_memory.save_message(7, "user", "hello")
    assert (data_dir / "memory.db").read_text().startswith("dear diary")


async def test_keyword_only(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL", "none")
    saved = await vector_memory.save_message(7, "user", "I work as a system administrator")
    await vector_memory.flush()
    assert (await vector_memory.search_memory(7, "administrators"))[0][0] == saved
    stats = await vector_memory.get_memory_stats(7)
    assert (stats["hybrid_mode"], stats["vector_documents"]) == (False, 0)
    assert not (data_dir / "vector_db").exists()


def test_it_works_across_event_loops() -> None:
    async def save(number: int) -> None:
        await vector_memory.save_message(7, "user", f"saying number {number}")

    for number in range(5):
        asyncio.run(save(number))  # each ends while vectors are still being made

    async def count() -> object:
        await vector_memory.flush()
        stats = await vector_memory.get_memory_stats(7)
        await vector_memory.close()
        return stats["total_messages"], stats["vector_documents"]

    assert asyncio.run(count()) == (5, 5)


def test_a_program_that_never_closes_still_ends(data_dir: Path) -> None:
    code = (
        "import asyncio, vector_memory\n"
        "asyncio.run(vector_memory.save_message(7, 'user', 'kept'))\n"
        "print(asyncio.run(vector_memory.search_memory(7, 'kept'))[0][0].content)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**os.environ, "DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "kept\n", "")
