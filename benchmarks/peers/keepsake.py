"""keepsake with its embedded model, or, where EMBEDDING_MODEL says so, with all-MiniLM-L6-v2 like the others."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.filling import fill
from benchmarks.measure import settings_for
from benchmarks.peers.runner import main
from benchmarks.peers.work import DEPTH, DIMENSION, HashedEmbedder, Said, Vector
from keepsake.forgetting.service import ERASE
from keepsake.index.embedder import E5_NAME, E5Engine, Engine
from keepsake.index.sentence_engine import SentenceEngine
from keepsake.manager import HybridMemoryManager
from keepsake.store import jobs


class Hashed:
    """An embedder whose vectors cost nothing."""

    name = "hashed"
    dimension = DIMENSION

    def __init__(self, embed: HashedEmbedder) -> None:
        self._embed = embed

    async def embed_query(self, text: str) -> Vector:
        return self._embed(text)

    async def embed_batch(self, texts: Sequence[str]) -> Vector:
        return np.stack([self._embed(text) for text in texts])

    def forget_cached(self) -> None:
        """Nothing is cached but the questions of the benchmark."""

    async def close(self) -> None:
        """There is no thread to end."""


class Heard(logging.Handler):
    """Whether a warning that begins so was logged."""

    def __init__(self, beginning: str) -> None:
        super().__init__(logging.WARNING)
        self._beginning = beginning
        self.seen = False

    def emit(self, record: logging.LogRecord) -> None:
        self.seen = self.seen or record.getMessage().startswith(self._beginning)


class Keepsake:
    def __init__(self, memory: HybridMemoryManager, model: str) -> None:
        self._memory = memory
        self._model = model
        self._numbers: dict[int, int] = {}  # our ids by keepsake's
        self._words_only = Heard("recall by keyword only")
        logging.getLogger("keepsake").addHandler(self._words_only)

    async def add(self, said: Said) -> None:
        moment = datetime.fromisoformat(said.at)
        kept = await self._memory.save_message(
            said.user, "user", said.text, sender=said.speaker, created_at=moment
        )
        self._numbers[kept.id] = said.id

    async def settle(self) -> None:
        await self._memory.flush()

    async def search(self, user: int, text: str) -> list[int]:
        found = await self._memory.search_memory(user, text, DEPTH)
        if self._words_only.seen:
            raise SystemExit(
                "a search went by words alone: the machine is too busy to measure recall by meaning"
            )
        return [self._numbers.get(message.id, message.id) for message, _ in found]

    async def ready(self, text: str) -> None:
        """keepsake itself waits three seconds for its model, then answers by words alone."""
        vectors = (await self._memory.engine())._vectors
        assert vectors is not None
        await vectors.embed_query(text)

    async def fill(self, messages: Sequence[Said], vectors: Sequence[Vector]) -> None:
        *most, last = messages
        await fill(self._memory, last.user, [said.text for said in most], np.stack(vectors[:-1]))
        await self.add(last)  # the index is filled after it

    async def delete_user(self, messages: Sequence[Said]) -> None:
        """What `bot.py erase` does."""
        user, storage = messages[0].user, (await self._memory.engine()).storage
        await storage.database.write(jobs.enqueue, ERASE, str(user), storage.now_micros(), user_id=user)
        await self._memory.flush()

    @cached_property
    def _engine(self) -> Engine:
        engine: Engine = E5Engine() if self._model == E5_NAME else SentenceEngine(self._model)
        engine.load()
        return engine

    def embed(self, text: str) -> Vector:
        vector: Vector = self._engine.encode([text])[0]
        return vector

    async def close(self) -> None:
        await self._memory.close()


async def opened(folder: Path, embed: HashedEmbedder | None) -> Keepsake:
    model = os.environ.get("EMBEDDING_MODEL", E5_NAME)
    embedder = None if embed is None else Hashed(embed)
    memory = HybridMemoryManager(settings_for(folder, embedding_model=model), embedder=embedder)
    await memory.engine()
    return Keepsake(memory, model)


if __name__ == "__main__":
    main(opened)
