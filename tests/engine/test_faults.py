"""What the world does to files and clocks: a clear line, nothing acknowledged lost, and work that goes on by itself."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from keepsake import jobs
from keepsake.errors import DatabaseError, EmbeddingError
from keepsake.locales import translate
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.settings import Settings, load_settings
from keepsake.verify import verify_folder
from tests.cli.program import BOT, bot
from tests.engine.tools import Counting


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes: the kernel says no, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def contents(memory: MemoryManager) -> list[str]:
    engine = await memory.engine()
    return [message.content for message in await engine.storage.last_messages(7, 100)]


class Held(Counting):
    """Makes vectors when it may."""

    def __init__(self) -> None:
        super().__init__("held")
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def embed_batch(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.set()
        await self.may.wait()
        return await super().embed_batch(texts)


async def test_after_a_full_disk_all_goes_on_by_itself(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "TROUBLE_SECONDS", 0.05)
    monkeypatch.setattr(jobs, "_FIRST_RETRY_SECONDS", 0.05)
    embedder = Held()
    async with HybridMemoryManager(settings, embedder=embedder) as memory:
        await memory.save_message(7, "user", "kept before it")
        await embedder.asked.wait()
        log = settings.data_dir / "memory.db-wal"
        with full_disk(log.stat().st_size):
            with pytest.raises(DatabaseError, match="full"):
                await memory.save_message(7, "user", "there is no room for this")
            embedder.may.set()  # its vector cannot be written, nor that it could not
            with pytest.raises(DatabaseError, match="full"):
                await memory.flush()
            assert await contents(memory) == ["kept before it"]
        await memory.save_message(7, "user", "kept after it")
        stats: dict[str, object] = {}
        async with asyncio.timeout(30):
            while stats.get("vector_documents") != 2:
                with suppress(DatabaseError):  # of its last try, until the next one
                    await memory.flush()
                await asyncio.sleep(0.1)
                stats = await memory.get_memory_stats(7)
        assert await contents(memory) == ["kept before it", "kept after it"]
    assert all(check.ok for check in verify_folder(settings.database_path, settings.data_dir))


def test_a_full_disk_is_told_in_the_chat_and_what_was_kept_is_there(data_dir: Path) -> None:
    environment = {**os.environ, "EMBEDDING_MODEL": "none"}
    assert bot("chat", stdin="kept before it\n", EMBEDDING_MODEL="none").status == 0
    room = (data_dir / "memory.db").stat().st_size + 20_000
    long = "x" * 300_000
    ended = subprocess.run(
        [sys.executable, BOT, "chat"],
        input=f"{long}\nsmall\n",
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    assert translate("en", "memory-unusable") in ended.stdout
    assert long[:50] not in ended.stderr
    assert kept(data_dir)[0] == "kept before it"
    assert long not in kept(data_dir)
    assert bot("verify", EMBEDDING_MODEL="none").status == 0


def kept(data_dir: Path) -> list[str]:
    with closing(sqlite3.connect(data_dir / "memory.db")) as connection:
        return [row[0] for row in connection.execute("SELECT content FROM messages ORDER BY id")]


def test_a_memory_that_was_cut_off_is_one_line_and_is_left_as_it_is(data_dir: Path) -> None:
    assert bot("chat", stdin="hello\n", EMBEDDING_MODEL="none").status == 0
    path = data_dir / "memory.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])
    before = path.read_bytes()
    for command in ("chat", "stats"):
        ended = bot(command, *(["1"] if command == "stats" else []), EMBEDDING_MODEL="none")
        assert ended.status == 2
        assert "memory.db" in ended.remark
        assert "restore a backup" in ended.remark
    assert path.read_bytes() == before


class Failing(Counting):
    async def embed_batch(self, texts: Sequence[str]) -> np.ndarray:
        raise EmbeddingError("not today")


async def test_a_clock_that_jumps_back_holds_up_nothing_and_keeps_the_order(settings: Settings) -> None:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    async with HybridMemoryManager(settings, embedder=Failing("same"), clock=lambda: now) as memory:
        await memory.save_message(7, "user", "one")
        await memory.flush()
    earlier = now - timedelta(days=2)
    async with HybridMemoryManager(settings, embedder=Counting("same"), clock=lambda: earlier) as memory:
        await memory.flush()
        assert (await memory.get_memory_stats(7))["vector_documents"] == 1
        await memory.save_message(7, "user", "two")
        await memory.flush()
        assert await contents(memory) == ["one", "two"]
        assert (await memory.get_memory_stats(7))["vector_documents"] == 2
        erasure = await memory.begin_erasure(7)
        assert erasure is not None
        assert (await memory.erased(erasure))["left"] == 0


async def test_an_index_with_a_giant_hole_in_a_file_is_mended_by_itself(data_dir: Path) -> None:
    settings = load_settings(exact_search_limit=0, vector_cache_mb=0)
    async with HybridMemoryManager(settings, embedder=Counting("same")) as memory:
        await memory.save_message(7, "user", "the greenhouse gets a new roof")
        await memory.flush()
    for file in [*(data_dir / "vector_db").rglob("*.bin"), data_dir / "vector_db" / "stray.bin"]:
        with file.open("ab") as grown:
            grown.truncate(200 << 30)
    async with asyncio.timeout(60):
        async with HybridMemoryManager(settings, embedder=Counting("same")) as memory:
            (found, _), *_ = await memory.search_memory(7, "the greenhouse gets a new roof")
            assert found.content == "the greenhouse gets a new roof"
            erasure = await memory.begin_erasure(7)
            assert erasure is not None
            assert (await memory.erased(erasure))["left"] == 0
