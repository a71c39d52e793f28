"""What happens at the same time: erasing, closing and answering, and an embedding model that is late."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from keepsake.errors import FolderHeld
from keepsake.forgetting.service import ERASE
from keepsake.index import terms
from keepsake.lock import FolderLock
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.models import AnswerEvent
from keepsake.recall import question
from keepsake.settings import Settings
from keepsake.store import jobs
from tests.engine.tools import Counting


async def erase(memory: MemoryManager, user_id: int) -> None:
    engine = await memory.engine()
    database, now = engine.storage.database, engine.storage.now_micros()
    await database.write(jobs.enqueue, ERASE, str(user_id), now, user_id=user_id)
    await memory.flush()


async def test_an_answer_that_ends_after_the_erasure_is_not_kept(settings: Settings) -> None:
    async with MemoryManager(settings) as memory:
        question = await memory.save_message(7, "user", "my secret is a zebra")
        await erase(memory, 7)
        assert await memory.save_answer(question, "your secret is a zebra") is None
        await memory.record_answer(AnswerEvent(7, question.id, None, "model", 12))
        stats = await memory.get_memory_stats(7)
        assert (stats["total_messages"], stats["total_sessions"]) == (0, 0)
        held = (await memory.engine()).storage.database
        assert await held.read(lambda c: c.execute("SELECT count(*) FROM users").fetchone()) == (0,)


async def test_no_cache_of_words_or_names_keeps_those_of_an_erased_person(settings: Settings) -> None:
    async with MemoryManager(settings) as memory:
        await memory.save_message(7, "user", "my secret is a zebra", sender="Aurora Lindqvist")
        await memory.search_memory(7, "what did Aurora say?")
        assert terms._word.cache_info().currsize > 0
        assert question._terms_of_name.cache_info().currsize > 0
        await erase(memory, 7)
        assert terms._word.cache_info().currsize == 0
        assert question._terms_of_name.cache_info().currsize == 0


async def test_no_work_begins_for_somebody_who_is_being_erased(settings: Settings) -> None:
    async with MemoryManager(settings) as memory:
        await memory.save_message(7, "user", "hello")
        database = (await memory.engine()).storage.database
        await database.write(jobs.enqueue, "chroma", "7", 1, user_id=7)
        await database.write(jobs.enqueue, "erase", "7", 1, user_id=7)
        assert await database.write(jobs.claim, "erase", 2) is not None
        assert await database.write(jobs.claim, "chroma", 2) is None
        await database.write(jobs.enqueue, "chroma", "8", 1, user_id=8)
        other = await database.write(jobs.claim, "chroma", 2)
        assert other is not None
        assert other.user_id == 8


async def test_a_call_during_the_close_opens_anew_under_the_lock(settings: Settings) -> None:
    memory = MemoryManager(settings)
    await memory.save_message(7, "user", "one")
    closing = asyncio.create_task(memory.close())
    await asyncio.sleep(0)
    await memory.save_message(7, "user", "two")
    await closing
    with pytest.raises(FolderHeld):
        FolderLock(settings.data_dir).acquire()
    assert (await memory.get_memory_stats(7))["total_messages"] == 2
    await memory.close()
    lock = FolderLock(settings.data_dir)
    lock.acquire()
    lock.release()


async def test_what_was_just_said_is_found_by_meaning_before_its_vector_is_made(settings: Settings) -> None:
    async with HybridMemoryManager(settings) as memory:
        said = await memory.save_message(7, "user", "I live in Angarsk")
        found = await memory.search_memory(7, "which town is mine?")
        assert found[0][0] == said
        assert found[0][1] > 0


class Late(Counting):
    """Never has a question's vector ready."""

    async def embed_query(self, text: str) -> np.ndarray:
        await asyncio.sleep(3600)
        raise AssertionError


async def test_a_late_embedding_model_is_not_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepsake.recall.by_meaning.PATIENCE_SECONDS", 0.1)
    async with HybridMemoryManager(settings, embedder=Late("late")) as memory:
        said = await memory.save_message(7, "user", "The ferry leaves at seven")
        found = await memory.search_memory(7, "when does the ferry leave?")
        assert found[0][0] == said


class Slow(Counting):
    """Makes vectors of what is short at once, and others not before it may."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.may = asyncio.Event()

    async def embed_query(self, text: str) -> np.ndarray:
        if len(text) > 100:
            await self.may.wait()
        return await super().embed_query(text)

    async def embed_batch(self, texts: Sequence[str]) -> np.ndarray:
        await self.may.wait()
        return await super().embed_batch(texts)


async def test_the_vectors_of_what_was_just_said_are_not_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepsake.recall.by_meaning.PATIENCE_SECONDS", 0.3)
    embedder = Slow("slow")
    async with HybridMemoryManager(settings, embedder=embedder) as memory:
        long = "The ferry leaves at seven. " + "I wait and wait. " * 50
        try:
            said = await memory.save_message(7, "user", long)
            short = await memory.save_message(7, "user", "It is called Aurora")
            async with asyncio.timeout(5):
                found = await memory.search_memory(7, "when does the ferry leave?")
        finally:
            embedder.may.set()
        assert [message for message, _ in found[:2]] == [said, short]
