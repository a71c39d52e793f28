"""A message that gets another text: it is found by the new one, by word and by meaning, and no longer by the old."""

from __future__ import annotations

import asyncio

import pytest

from keepsake.manager import HybridMemoryManager
from keepsake.settings import load_settings
from keepsake.store import keywords
from keepsake.store.database import connect_reader
from keepsake.verify import verify

KEY = "note 1"


@pytest.mark.parametrize("exact_search_limit", [5000, 0])  # exact search, and Chroma
async def test_an_edited_message_is_found_by_its_new_text(exact_search_limit: int) -> None:
    settings = load_settings(exact_search_limit=exact_search_limit)
    async with HybridMemoryManager(settings) as memory:
        said = await memory.save_message(7, "user", "My sister plays the violin", key=KEY)
        for number in range(5):
            await memory.save_message(7, "user", f"the train number {number} is late")
        await memory.flush()
        before = (await memory.search_memory(7, "what about music?"))[0]
        assert before[0].id == said.id

        edited = await memory.edit_message(7, KEY, "My brother breeds horses")
        assert edited is not None
        assert (edited.id, edited.created_at) == (said.id, said.created_at)
        await memory.flush()
        assert (await memory.search_memory(7, "which animals?"))[0][0].content == "My brother breeds horses"
        by_word = await memory.search_memory(7, "violin")
        assert all(score < before[1] for message, score in by_word if message.id == said.id)
        database = (await memory.engine()).storage.database
        assert await database.read(keywords.frequency, 7, "violin") == 0
        assert await database.read(keywords.frequency, 7, "hors") == 1
        assert (await memory.get_memory_stats(7))["vector_documents"] == 6
    connection = connect_reader(settings.database_path)
    assert [check for check in verify(connection, settings.data_dir) if not check.ok] == []
    connection.close()


async def test_a_vector_of_the_old_text_that_comes_late_is_not_kept() -> None:
    async with HybridMemoryManager(load_settings()) as memory:
        await memory.save_message(7, "user", "my cat is called Fluffy and sleeps all day", key=KEY)
        await asyncio.sleep(0.02)  # it is being embedded
        await memory.edit_message(7, KEY, "the tax return is due in May")
        await memory.flush()
        engine = await memory.engine()
        assert engine._vectors is not None
        wanted = await engine._vectors.embed_query("the tax return is due in May")
        (_, cosine), *_ = await engine._vectors.nearest(7, wanted, 1)
        assert cosine > 0.99


async def test_only_its_owner_and_its_key_reach_a_message() -> None:
    async with HybridMemoryManager(load_settings(embedding_model="none")) as memory:
        said = await memory.save_message(7, "user", "mine", key=KEY)
        assert await memory.edit_message(8, KEY, "yours") is None
        assert await memory.edit_message(7, "another", "yours") is None
        with pytest.raises(ValueError, match="empty"):
            await memory.edit_message(7, KEY, "  ")
        assert (await memory.search_memory(7, "mine"))[0][0] == said


async def test_a_key_makes_a_message_be_stored_once() -> None:
    async with HybridMemoryManager(load_settings(embedding_model="none")) as memory:
        first = await memory.save_message(7, "user", "once", key=KEY)
        assert await memory.save_message(7, "user", "twice", key=KEY) == first
        other = await memory.save_message(8, "user", "once", key=KEY)
        assert other.id != first.id
        assert (await memory.get_memory_stats(7))["total_messages"] == 1
