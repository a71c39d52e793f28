"""A message that gets another text: it is found by the new one, by word and by meaning, and no longer by the old."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.settings import load_settings
from keepsake.store import keywords
from keepsake.store.database import connect_reader
from keepsake.verify import verify
from tests.model_server import MODEL, ModelServer, pattern_facts

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


def read_by(server: ModelServer) -> MemoryManager:
    """A memory that has facts drawn from every message, by that model."""
    chosen = {"openai_base_url": server.url, "openai_model": MODEL, "fact_extraction_every": 1}
    return MemoryManager(load_settings(**chosen, embedding_model="none"))


async def test_facts_of_the_old_text_go_and_the_new_one_is_read(data_dir: Path) -> None:
    with ModelServer() as server:
        async with read_by(server) as memory:
            await memory.save_message(7, "user", "I live in Angarsk, I like tea", key=KEY)
            await memory.flush()
            await memory.save_message(7, "user", "hello, I like jazz")
            await memory.flush()
            tea = (await memory.get_facts(7))[1]
            await memory.edit_message(7, KEY, "I live in Irkutsk, I like tea")
            assert [fact.content for fact in await memory.get_facts(7)] == ["Likes tea", "Likes jazz"]
            await memory.flush()
            known = await memory.get_facts(7, all_statuses=True)
            assert sorted(fact.content for fact in known) == ["Likes jazz", "Likes tea", "Lives in Irkutsk"]
            assert tea in known, "what still stands there is left alone"
            assert "Angarsk" not in str(await memory.get_fact_history(7))
    connection = connect_reader(data_dir / "memory.db")
    assert [check for check in verify(connection, data_dir, with_vectors=False) if not check.ok] == []
    connection.close()


async def test_a_fact_with_another_source_only_loses_this_one() -> None:
    # The newest message only: the ones before are shown again.
    with ModelServer(facts=lambda body: {"facts": pattern_facts(body)["facts"][-1:]}) as server:
        async with read_by(server) as memory:
            first = await memory.save_message(7, "user", "I live in Angarsk", key=KEY)
            await memory.flush()
            second = await memory.save_message(7, "user", "yes, I live in Angarsk now")
            await memory.flush()
            assert (await memory.get_facts(7))[0].message_ids == (first.id, second.id)
            await memory.edit_message(7, KEY, "nothing to tell of me")
            await memory.flush()
            (fact,) = await memory.get_facts(7)
            assert (fact.content, fact.message_ids) == ("Lives in Angarsk", (second.id,))


async def test_what_is_drawn_from_the_old_text_during_an_edit_is_not_kept() -> None:
    with ModelServer() as server:
        async with read_by(server) as memory:
            asked: list[str] = []

            def slowly(body: dict[str, Any]) -> dict[str, Any]:
                asked.append(body["messages"][-1]["content"])
                time.sleep(0.3 if len(asked) == 1 else 0)
                return pattern_facts(body)

            server.facts = slowly
            await memory.save_message(7, "user", "I live in Angarsk", key=KEY)
            while not asked:  # noqa: ASYNC110 - there is nothing to be told by
                await asyncio.sleep(0.01)
            await memory.edit_message(7, KEY, "I live in Irkutsk")
            await memory.flush()
            known = await memory.get_facts(7, all_statuses=True)
            assert [fact.content for fact in known] == ["Lives in Irkutsk"]
