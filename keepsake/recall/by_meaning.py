"""The vector route: what the embedding model says to one question, and for how long it is waited for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keepsake.models import ItemKind, Message
from keepsake.recall.question import Understood

EARLIER_MEANING = 0.3  # how far a vague question's vector is turned towards those of the turns before it
PATIENCE_SECONDS = 3.0  # with the embedding model, for one question altogether; somebody waits for the answer

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]
Key = tuple[ItemKind, int]


class Vectors(Protocol):
    """What recall needs of the vector index."""

    async def embed_query(self, text: str) -> Vector: ...

    async def nearest(self, user_id: int, query: Vector, k: int) -> list[tuple[Key, float]]: ...

    async def cosines(self, user_id: int, query: Vector, keys: Sequence[Key]) -> dict[Key, float]: ...


class ByMeaning:
    """Cosines of messages with one question. `vectors` None, or a model that takes too long: there are none.

    `heard` tells which it was, once `listen` was called. All but that raise EmbeddingError.
    """

    def __init__(self, vectors: Vectors | None, user_id: int, asked: Understood) -> None:
        self._vectors = vectors
        self._user_id = user_id
        self._asked = asked
        self._deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        self._query: Vector | None = None

    @property
    def heard(self) -> bool:
        return self._query is not None

    async def listen(self) -> None:
        """Embeds the question, turned a little towards the turns before it where it may be vague."""
        if self._vectors is None or not self._asked.text.strip():
            return
        try:
            async with asyncio.timeout_at(self._deadline):
                query = await self._vectors.embed_query(self._asked.text)
                # These texts were embedded not long ago, as messages: the embedder still knows them.
                turns = [await self._vectors.embed_query(turn) for turn in self._asked.earlier]
        except TimeoutError:
            # The model may be loading, or many ask at once.
            log.warning("recall by keyword only: the embedding model takes too long")
            return
        if turns:
            turned = query + EARLIER_MEANING * np.mean(turns, axis=0)
            query = np.asarray(turned / np.linalg.norm(turned), dtype=np.float32)
        self._query = query

    async def nearest(self, limit: int, without: Collection[int]) -> dict[int, float]:
        """The nearest messages with their cosines, none of `without`."""
        if self._vectors is None or self._query is None:
            return {}
        # Facts have vectors too; a few more leave room for them.
        near = await self._vectors.nearest(self._user_id, self._query, limit + limit // 2 + len(without))
        found = [(item, cosine) for (kind, item), cosine in near if kind == "message" and item not in without]
        return dict(found[:limit])

    async def of(self, ids: Iterable[int]) -> dict[int, float]:
        """Cosines of these messages, as far as they have a vector."""
        if self._vectors is None or self._query is None:
            return {}
        keys: list[Key] = [("message", one) for one in ids]
        found = await self._vectors.cosines(self._user_id, self._query, keys)
        return {item: cosine for (_, item), cosine in found.items()}

    async def of_texts(self, waiting: Sequence[Message]) -> dict[int, float]:
        """Cosines of messages whose vectors are still to be made, but for what takes too long; the last go first."""
        found: dict[int, float] = {}
        if self._vectors is None or self._query is None:
            return found
        try:
            async with asyncio.timeout_at(self._deadline):
                for one in reversed(waiting):
                    found[one.id] = float(await self._vectors.embed_query(one.content) @ self._query)
        except TimeoutError:
            log.info("recall without %d of the last messages' vectors", len(waiting) - len(found))
        return found
