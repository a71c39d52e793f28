"""The vector index may be changed, emptied or damaged at any time: recall goes on, and it is made anew by itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from keepsake.index.chroma import ChromaIndex
from keepsake.manager import HybridMemoryManager
from keepsake.settings import Settings, load_settings
from keepsake.store import embeddings
from tests.engine.tools import Counting

WANTED = "the greenhouse gets a new roof in May"


def chroma_settings() -> Settings:
    """Everybody counts as a large user: Chroma answers."""
    return load_settings(exact_search_limit=0, vector_cache_mb=0)


async def _filled(memory: HybridMemoryManager) -> None:
    await memory.save_message(7, "user", WANTED)
    for number in range(20):
        await memory.save_message(7, "user", f"an evening with book number {number}")
    await memory.flush()


async def _waiting_for_chroma(memory: HybridMemoryManager) -> list[int]:
    engine = await memory.engine()
    return await engine.storage.database.read(embeddings.users_pending_for_chroma)


async def _best(memory: HybridMemoryManager) -> str:
    return (await memory.search_memory(7, "оранжерея крыша весной"))[0][0].content


async def test_chroma_answers_as_exact_search_does() -> None:
    async with HybridMemoryManager(load_settings()) as memory:
        await _filled(memory)
        exact = await memory.search_memory(7, "a reading night at home", 10)
    async with HybridMemoryManager(chroma_settings()) as memory:
        chroma = await memory.search_memory(7, "a reading night at home", 10)
    assert [message.id for message, _ in chroma] == [message.id for message, _ in exact]
    assert [score for _, score in chroma] == pytest.approx([score for _, score in exact], abs=1e-4)


async def test_every_vector_is_handed_to_chroma(data_dir: Path) -> None:
    async with HybridMemoryManager(chroma_settings()) as memory:
        await _filled(memory)
        await memory.save_message(8, "user", "somebody else")
        await memory.flush()
        assert await _waiting_for_chroma(memory) == []
    chroma = ChromaIndex(data_dir / "vector_db")
    counts = sorted((await chroma.collections()).values())
    await chroma.close()
    assert counts == [1, 21]


@pytest.mark.parametrize("damage", ["removed", "emptied", "garbage"])
async def test_a_damaged_index_between_two_runs(data_dir: Path, damage: str) -> None:
    async with HybridMemoryManager(chroma_settings()) as memory:
        await _filled(memory)
    folder = data_dir / "vector_db"
    if damage == "garbage":
        (folder / "chroma.sqlite3").write_bytes(os.urandom(50_000))
    else:
        shutil.rmtree(folder)
        if damage == "emptied":
            folder.mkdir()
    async with HybridMemoryManager(chroma_settings()) as memory:
        assert await _best(memory) == WANTED
        for _ in range(
            3
        ):  # a failed job waits some seconds; another search and flush may find it mended before
            await memory.flush()
        assert await _best(memory) == WANTED
        assert (await memory.get_memory_stats(7))["vector_documents"] == 21


async def test_a_killed_child_costs_nothing(data_dir: Path) -> None:
    chroma = ChromaIndex(data_dir / "vector_db")
    async with HybridMemoryManager(chroma_settings(), chroma=chroma) as memory:
        await _filled(memory)
        assert await _best(memory) == WANTED
        assert chroma.child_pid is not None
        os.kill(chroma.child_pid, signal.SIGKILL)
        assert await _best(memory) == WANTED
        await memory.flush()
        assert await _best(memory) == WANTED


async def test_another_embedding_model_makes_all_vectors_anew() -> None:
    first, second = Counting("first-model"), Counting("second-model")
    async with HybridMemoryManager(load_settings(), embedder=first) as memory:
        await _filled(memory)
        assert (await memory.get_memory_stats(7))["vector_documents"] == 21
    async with HybridMemoryManager(load_settings(), embedder=second) as memory:
        found = await memory.search_memory(7, "greenhouse")
        assert found[0][0].content == WANTED  # by keyword, while vectors are made
        await memory.flush()
        stats = await memory.get_memory_stats(7)
        assert (stats["vector_model"], stats["vector_documents"]) == ("second-model", 21)
    assert second.embedded >= {WANTED}


async def test_searching_while_it_is_filled_and_closed() -> None:
    memory = HybridMemoryManager(chroma_settings())
    await asyncio.gather(
        *(
            memory.save_message(user, "user", f"saying {n} of {user}")
            for n in range(10)
            for user in (1, 2, 3)
        ),
        *(memory.search_memory(user, "saying") for user in (1, 2, 3)),
    )
    await memory.close()
    async with HybridMemoryManager(chroma_settings()) as again:
        await again.flush()
        assert [(await again.get_memory_stats(user))["vector_documents"] for user in (1, 2, 3)] == [
            10,
            10,
            10,
        ]
