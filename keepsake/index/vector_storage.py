"""VectorMemoryStorage: the vectors of every user, made from the store and found again.

The vectors themselves stand in SQLite. Small users are searched exactly, over vectors kept in RAM for a
while; large ones by Chroma, together with an exact search over what Chroma was not handed yet. Where Chroma
fails, exact search answers for everybody and the index is filled anew in the background.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from keepsake.clock import Clock, to_micros
from keepsake.errors import CollectionLost, VectorIndexError
from keepsake.index import exact
from keepsake.index.chroma import ChromaIndex
from keepsake.index.embedder import Embedder
from keepsake.index.exact import VectorCache
from keepsake.jobs import Done
from keepsake.models import ItemKind, Job
from keepsake.store import embeddings, jobs, users
from keepsake.store.database import Database
from keepsake.store.embeddings import ItemKey, Vector
from keepsake.store.jobs import CHROMA, EMBED

log = logging.getLogger(__name__)

_EMBED_BATCH = 32  # texts a transaction: what a kill may cost is made again
_CHROMA_BATCH = 1000
_PATIENCE_SECONDS = 2.0  # a damaged index may hang; somebody waits for the answer
_MODEL = "embedding_model"  # in `meta`: whose vectors the index holds
_IDENTITY = "chroma_identity"  # in `meta`: which Chroma folder was filled


@dataclass(frozen=True, slots=True)
class _Large:
    """A user whom Chroma serves: the collection, and the vectors that it was not handed yet."""

    handle: str
    pending: Sequence[ItemKey]
    vectors: Vector


class VectorMemoryStorage:
    """Embeds what is queued, hands it to Chroma, and finds the nearest. `chroma` None: exact search only."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        chroma: ChromaIndex | None,
        *,
        exact_limit: int = 5000,
        cache_bytes: int = 64_000_000,
        clock: Clock,
    ) -> None:
        self.embedder = embedder
        self.chroma = chroma
        self.cache = VectorCache(cache_bytes)
        self._database = database
        self._exact_limit = exact_limit
        self._clock = clock
        self._filling = asyncio.Lock()  # what is handed to Chroma, and what is taken out
        self._changes = 0  # counts what was added or dropped, so that a slow load is not cached over it

    # Background work

    async def prepare(self) -> None:
        """At start: notices a changed embedding model, or a Chroma folder that is not the one that was filled."""
        if self.chroma is not None:
            if await self._database.read(users.get_meta, _MODEL) not in (None, self.embedder.name):
                log.info("the embedding model is another one: vectors are made anew in the background")
                await self.chroma.wipe()
            await self._note_identity(self.chroma)
        await self._database.write(self._queue_missing)

    def _queue_missing(self, connection: sqlite3.Connection) -> None:
        if users.get_meta(connection, _MODEL) != self.embedder.name:
            embeddings.queue_all(connection, self.embedder.name)
            users.set_meta(connection, _MODEL, self.embedder.name)
        for user_id in embeddings.users_queued(connection):
            self._enqueue(connection, EMBED, user_id)
        if self.chroma is not None:
            for user_id in embeddings.users_pending_for_chroma(connection):
                self._enqueue(connection, CHROMA, user_id)

    def _enqueue(self, connection: sqlite3.Connection, kind: str, user_id: int) -> None:
        jobs.enqueue(connection, kind, str(user_id), to_micros(self._clock()), user_id=user_id)

    async def _note_identity(self, chroma: ChromaIndex) -> bool:
        """Is the index still the one that was filled? Where not, everybody's vectors are handed over again."""
        identity = await chroma.identity()
        if await self._database.read(users.get_meta, _IDENTITY) == identity:
            return True
        await self._database.write(self._chroma_is_new, identity)
        return False

    def _chroma_is_new(self, connection: sqlite3.Connection, identity: str) -> None:
        for user_id in embeddings.forget_chroma(connection):
            self._enqueue(connection, CHROMA, user_id)
        users.set_meta(connection, _IDENTITY, identity)

    async def embed(self, job: Job) -> Done:
        """The job that makes the vectors which a user's messages and facts still lack. Raises EmbeddingError."""
        assert job.user_id is not None
        user_id, model = job.user_id, self.embedder.name
        while rows := await self._database.read(embeddings.queued, user_id, _EMBED_BATCH):
            texts = [text for _, _, text in rows]
            vectors = await self.embedder.embed_batch(texts)
            made = [(kind, item, vector) for (kind, item, _), vector in zip(rows, vectors, strict=True)]
            written = set(await self._database.write(embeddings.store, user_id, model, made, texts))
            self._add_to_cache(user_id, [row for row in made if row[:2] in written])
        if self.chroma is None:
            return Done()
        return Done(commit=lambda connection: self._enqueue(connection, CHROMA, user_id))

    def _add_to_cache(self, user_id: int, rows: Sequence[tuple[str, int, Vector]]) -> None:
        self._changes += 1
        if rows:
            keys = [exact.encode("message" if kind == "message" else "fact", item) for kind, item, _ in rows]
            self.cache.append(user_id, keys, np.stack([vector for _, _, vector in rows]))

    async def fill_chroma(self, job: Job) -> Done:
        """The job that hands a user's vectors to Chroma. Raises VectorIndexError: it is tried again later."""
        assert job.user_id is not None and self.chroma is not None
        user_id = job.user_id
        handle = await self._database.read(users.handle, user_id)
        while handle is not None:
            async with self._filling:
                keys, vectors = await self._database.read(
                    embeddings.load, user_id, self.embedder.name, only_pending=True, limit=_CHROMA_BATCH
                )
                if not keys:
                    break
                await self._hand_over(self.chroma, user_id, handle, keys, vectors)
        return Done()

    async def unindex(self, job: Job) -> Done:
        """The job that takes what has gone (facts also where they hold no longer) out of RAM and Chroma.

        Raises VectorIndexError.
        """
        assert job.user_id is not None
        user_id = job.user_id
        keys: list[ItemKey] = []
        for kind in ("message", "fact"):
            ids = job.payload.get(f"{kind}s", [])
            assert isinstance(ids, list)
            keys += [(kind, item) for item in ids]
        for kind, item in keys:
            self.drop_one(user_id, kind, item)
        handle = await self._database.read(users.handle, user_id)
        if self.chroma is not None and handle is not None:
            async with self._filling:
                # What was forgotten may have been brought back.
                load = partial(embeddings.load_some, user_id=user_id, model=self.embedder.name, keys=keys)
                back, _ = await self._database.read(load)
                gone = [f"{kind[0]}{item}" for kind, item in keys if (kind, item) not in back]
                try:
                    if gone:
                        await self.chroma.delete_ids(handle, gone)
                except CollectionLost:  # with all that was in it
                    await self._database.write(self._forget_chroma, user_id)
        return Done()

    async def fill_anew(self, user_id: int, erase: Callable[[], Awaitable[None]]) -> None:
        """Has a user's vectors handed to Chroma again, once `erase` has removed every byte of them there."""
        async with self._filling:
            await erase()
            await self._database.write(self._forget_chroma, user_id)

    def _forget_chroma(self, connection: sqlite3.Connection, user_id: int) -> None:
        embeddings.forget_chroma(connection, user_id)
        if self.chroma is not None:
            self._enqueue(connection, CHROMA, user_id)

    async def _hand_over(
        self, chroma: ChromaIndex, user_id: int, handle: str, keys: Sequence[ItemKey], vectors: Vector
    ) -> None:
        try:
            await chroma.upsert(handle, [f"{kind[0]}{item}" for kind, item in keys], vectors)
        except CollectionLost:
            await self._note_identity(chroma)
            await self._database.write(embeddings.forget_chroma, user_id)
            raise
        except VectorIndexError:
            await self._note_identity(chroma)
            raise
        if await self._note_identity(chroma):
            await self._database.write(embeddings.mark_in_chroma, user_id, keys)

    async def rebuild(self, user_id: int) -> None:
        """Throws a user's vectors away, in SQLite and Chroma, and queues them to be made anew."""
        handle = await self._database.read(users.handle, user_id)
        if self.chroma is not None and handle is not None:
            await self.chroma.delete_collection(handle)
        await self._rebuild_in_store(user_id)

    async def rebuild_all(self, user_ids: Sequence[int]) -> None:
        """The same for everybody. The index is emptied as a whole, which takes no longer than one user's part."""
        if self.chroma is not None:
            await self.chroma.wipe()
            await self._note_identity(self.chroma)
        for user_id in user_ids:
            await self._rebuild_in_store(user_id)

    async def _rebuild_in_store(self, user_id: int) -> None:
        self.drop(user_id)
        await self._database.write(self._rebuild, user_id)

    def _rebuild(self, connection: sqlite3.Connection, user_id: int) -> None:
        embeddings.delete(connection, user_id)
        embeddings.queue_all(connection, self.embedder.name, user_id)
        self._enqueue(connection, EMBED, user_id)

    def drop_one(self, user_id: int, kind: ItemKind, item_id: int) -> None:
        """Takes one vector out of RAM."""
        self._changes += 1
        self.cache.remove(user_id, [exact.encode(kind, item_id)])

    def drop(self, user_id: int) -> None:
        """Takes a user's vectors out of RAM."""
        self._changes += 1
        self.cache.drop(user_id)

    # Search

    async def embed_query(self, text: str) -> Vector:
        """The unit vector (dimension,) of a question. Raises EmbeddingError."""
        return await self.embedder.embed_query(text)

    async def nearest(self, user_id: int, query: Vector, k: int) -> list[tuple[ItemKey, float]]:
        """The `k` nearest messages and facts with their cosines, best first."""
        cached = self.cache.get(user_id)
        if cached is not None:
            return _top(cached.keys, cached.matrix, query, k)
        if self.chroma is not None:
            large = await self._database.read(self._large, user_id)
            if large is not None:
                found = await self._nearest_by_chroma(self.chroma, user_id, large, query, k)
                if found is not None:
                    return found
        before = self._changes
        items, matrix = await self._database.read(embeddings.load, user_id, self.embedder.name)
        keys = np.array([exact.encode(kind, item) for kind, item in items], dtype=np.int64)
        if items and len(items) <= self._exact_limit and before == self._changes:
            self.cache.put(user_id, keys, matrix)
        return _top(keys, matrix, query, k)

    def _large(self, connection: sqlite3.Connection, user_id: int) -> _Large | None:
        """How a user's vectors stand in Chroma; None for those who are searched exactly."""
        if embeddings.count_up_to(connection, user_id, self._exact_limit + 1) <= self._exact_limit:
            return None
        handle = users.handle(connection, user_id)
        keys, vectors = embeddings.load(
            connection, user_id, self.embedder.name, only_pending=True, limit=self._exact_limit + 1
        )
        return None if handle is None or len(keys) > self._exact_limit else _Large(handle, keys, vectors)

    async def _nearest_by_chroma(
        self, chroma: ChromaIndex, user_id: int, held: _Large, query: Vector, k: int
    ) -> list[tuple[ItemKey, float]] | None:
        """None where Chroma cannot answer for this user (now): exact search then does."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                found = await chroma.query(held.handle, query, k)
        except (VectorIndexError, TimeoutError) as error:
            log.warning("exact search answers for the vector index: %s", error or "it is too slow")
            await self._database.write(self._chroma_failed, user_id, isinstance(error, CollectionLost))
            return None
        keys = np.array([exact.encode(kind, item) for kind, item in held.pending], dtype=np.int64)
        merged = dict(_top(keys, held.vectors, query, k))
        merged |= {
            (("message" if name[0] == "m" else "fact"), int(name[1:])): cosine for name, cosine in found
        }
        return sorted(merged.items(), key=lambda item: -item[1])[:k]

    def _chroma_failed(self, connection: sqlite3.Connection, user_id: int, lost: bool) -> None:
        if lost:
            embeddings.forget_chroma(connection, user_id)
        self._enqueue(connection, CHROMA, user_id)

    async def cosines(self, user_id: int, query: Vector, keys: Sequence[ItemKey]) -> dict[ItemKey, float]:
        """Cosines of these messages and facts, as far as they have a vector."""
        cached = self.cache.get(user_id)
        if cached is not None:
            places = exact.places(cached.keys, [exact.encode(kind, item) for kind, item in keys])
            found = {key: place for key, place in zip(keys, places, strict=True) if place >= 0}
            values = cached.matrix[list(found.values())] @ query
            return dict(zip(found, values.tolist(), strict=True))
        load = partial(embeddings.load_some, user_id=user_id, model=self.embedder.name, keys=keys)
        held, matrix = await self._database.read(load)
        return dict(zip(held, (matrix @ query).tolist(), strict=True)) if held else {}


def _top(keys: exact.Keys, matrix: Vector, query: Vector, k: int) -> list[tuple[ItemKey, float]]:
    if not len(keys):
        return []
    positions, cosines = exact.top(matrix, query, k)
    return [
        (exact.decode(int(keys[position])), float(cosine))
        for position, cosine in zip(positions, cosines, strict=True)
    ]
