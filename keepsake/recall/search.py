"""Recall of one user's messages: routes bring candidates, ranking orders them once.

No query here goes without its user, and every number that a score is made of counts that user's messages only.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keepsake.models import ItemKind, Message
from keepsake.recall.echoes import without_echoes
from keepsake.recall.floor import above
from keepsake.recall.neighbours import REACH, Neighbours
from keepsake.recall.question import Question, Understood, understand
from keepsake.recall.ranking import CosineScale, bm25, combine, most_of, rank, rarity
from keepsake.recall.rerank import Reranking
from keepsake.recall.weighing import Weighing
from keepsake.store import keywords, messages
from keepsake.store.database import Database
from keepsake.store.messages import Glance

# Read from the keyword index for one question, rarest words first: what stands in more messages than that is common
# enough to say little, and costs most to read.
DOCUMENTS_MAX = 10_000
SCORED_MAX = 100  # messages whose words are counted for BM25
EARLIER_MEANING = 0.3  # how far a vague question's vector is turned towards those of the turns before it
EARLIER_WORDS = 0.2  # what their words weigh beside the question's own
JUST_SAID = 4  # so many of the newest messages are embedded for a question that comes before their vectors do
PATIENCE_SECONDS = 3.0  # with the embedding model, for one question altogether; somebody waits for the answer

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]


class Vectors(Protocol):
    """What recall needs of the vector index."""

    async def embed_query(self, text: str) -> Vector: ...

    async def nearest(
        self, user_id: int, query: Vector, k: int
    ) -> list[tuple[tuple[ItemKind, int], float]]: ...

    async def cosines(
        self, user_id: int, query: Vector, keys: Sequence[tuple[ItemKind, int]]
    ) -> dict[tuple[ItemKind, int], float]: ...


class Recall:
    """Search over messages. `vectors` None: by keyword only."""

    def __init__(
        self,
        database: Database,
        vectors: Vectors | None,
        *,
        scale: CosineScale,
        candidates: int = 20,
        reranking: Reranking | None = None,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._scale = scale
        self._candidates = candidates
        self._reranking = reranking or Reranking()

    async def search(
        self, question: Question, limit: int, floor: float | None = None
    ) -> list[tuple[Message, float]]:
        """Messages with scores of 0–1, best first, at most `limit`; with a `floor`, only those worth showing."""
        user_id, without = question.user_id, set(question.without)
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        asked = understand(question, await self._database.read(messages.speakers, user_id))
        # The model works on its own thread while the disk is read.
        by_words = self._database.read(self._keyword_route, user_id, asked, without)
        (words, best, around), query = await asyncio.gather(by_words, self._embedded(asked, deadline))
        newest = await self._newest(question)
        hits = {*best, *(message.id for message in newest)}
        cosines: dict[int, float] = {}
        if self._vectors is not None and query is not None:
            cosines = await self._nearest(self._vectors, user_id, query, without)
            hits |= cosines.keys()
        seen = {glance.id: glance for window in around for glance in window}
        more = await self._database.read(messages.windows, user_id, hits - set(best), REACH)
        seen |= {glance.id: glance for window in more for glance in window}
        neighbours = Neighbours([*around, *more])
        candidates = {beside for one in hits for beside in (one, *neighbours.beside(one))}
        if self._vectors is not None and query is not None:
            cosines |= await self._cosines(self._vectors, user_id, query, candidates - cosines.keys())
            cosines |= await self._just_said(self._vectors, query, newest, cosines, deadline)
        meaning = {item: self._scale.stretch(cosine) for item, cosine in cosines.items()}
        weigh = Weighing(asked, neighbours, words, meaning, hits)
        scores = {
            one: combine(weigh.evidence(seen[one]), by_meaning=query is not None)
            for one in candidates - without
            if one in seen and (question.before is None or one < question.before)
        }
        ranked = rank(scores)
        if floor is not None:
            ranked = above(floor, ranked, asked, words, meaning)
        found = await self._read(question, ranked, self._reranking.needed(limit))
        return await self._reranking.order(question, asked.earlier, found, limit)

    async def _read(
        self, question: Question, ranked: Sequence[tuple[int, float]], limit: int
    ) -> list[tuple[Message, float]]:
        """The messages of a ranking: twice as many as are wanted, all where too many of them only repeat."""
        found: list[tuple[Message, float]] = []
        for part in (ranked[: 2 * limit], ranked):
            held = await self._database.read(messages.by_ids, question.user_id, [one for one, _ in part])
            in_order = ((held[one], score) for one, score in part if one in held)
            found = without_echoes(in_order, question.text, limit)
            if len(found) == limit or len(part) == len(ranked):
                break
        return found

    async def _nearest(
        self, vectors: Vectors, user_id: int, query: Vector, without: set[int]
    ) -> dict[int, float]:
        # Facts have vectors too; twice as many leaves room for them.
        near = await vectors.nearest(user_id, query, 2 * self._candidates + len(without))
        found = [(item, cosine) for (kind, item), cosine in near if kind == "message" and item not in without]
        return dict(found[: 2 * self._candidates])

    async def _cosines(
        self, vectors: Vectors, user_id: int, query: Vector, ids: Iterable[int]
    ) -> dict[int, float]:
        keys: list[tuple[ItemKind, int]] = [("message", one) for one in ids]
        found = await vectors.cosines(user_id, query, keys)
        return {item: cosine for (_, item), cosine in found.items()}

    async def _newest(self, question: Question) -> list[Message]:
        """What was said last, which no route may know yet; for a context it stands there already."""
        if question.without:
            return []
        return await self._database.read(messages.last, question.user_id, self._candidates, question.before)

    async def _just_said(
        self,
        vectors: Vectors,
        query: Vector,
        newest: Sequence[Message],
        known: Mapping[int, float],
        deadline: float,
    ) -> dict[int, float]:
        """Cosines of the last messages that have no vector yet, but for more than a few and what takes too long."""
        waiting = [message for message in newest[-JUST_SAID:] if message.id not in known]
        found: dict[int, float] = {}
        try:
            async with asyncio.timeout_at(deadline):
                for one in reversed(waiting):
                    found[one.id] = float(await vectors.embed_query(one.content) @ query)
        except TimeoutError:
            log.info("recall without %d of the last messages' vectors", len(waiting) - len(found))
        return found

    async def _embedded(self, asked: Understood, deadline: float) -> Vector | None:
        """The question's vector, turned a little towards the turns before it where it may be vague.

        None where there is no model, or it takes too long: it may be loading, or many ask at once.
        """
        if self._vectors is None or not asked.text.strip():
            return None
        try:
            async with asyncio.timeout_at(deadline):
                query = await self._vectors.embed_query(asked.text)
                # These texts were embedded not long ago, as messages: the embedder still knows them.
                turns = [await self._vectors.embed_query(turn) for turn in asked.earlier]
        except TimeoutError:
            log.warning("recall by keyword only: the embedding model takes too long")
            return None
        if not turns:
            return query
        turned = query + EARLIER_MEANING * np.mean(turns, axis=0)
        return np.asarray(turned / np.linalg.norm(turned), dtype=np.float32)

    def _keyword_route(
        self, connection: sqlite3.Connection, user_id: int, asked: Understood, without: set[int]
    ) -> tuple[dict[int, float], list[int], list[list[Glance]]]:
        """BM25 shares of the messages that hold most of the question's words, the best, and what stands around them."""
        terms = [*asked.terms, *asked.earlier_terms]
        documents, mean_length = keywords.totals(connection, user_id)
        frequencies = np.array(
            [keywords.frequency(connection, user_id, term) for term in terms], dtype=np.int64
        )
        weights = rarity(frequencies, documents)
        weights[len(asked.terms) :] *= EARLIER_WORDS
        matches: list[tuple[NDArray[np.int64], float]] = []
        room = DOCUMENTS_MAX
        for column in np.argsort(frequencies, kind="stable").tolist():
            if room > 0 and frequencies[column]:
                found = keywords.documents(connection, user_id, terms[column], room)
                matches.append((found, float(weights[column])))
                room -= len(found)
        best = most_of(matches, SCORED_MAX)
        ids, counts, lengths = keywords.counts(connection, user_id, best, terms)
        shares = dict(zip(ids, bm25(counts, lengths, weights, mean_length).tolist(), strict=True))
        first = [one for one, _ in rank(shares) if one not in without][: self._candidates]
        return shares, first, messages.windows(connection, user_id, first, REACH)
