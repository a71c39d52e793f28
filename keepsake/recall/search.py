"""Recall of one user's messages: two routes bring candidates, ranking orders them once.

No query here goes without its user, and every number that a score is made of counts that user's messages only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keepsake.models import ItemKind, Message
from keepsake.recall.ranking import CosineScale, TermMatches, bm25, combine, rank
from keepsake.store import keywords, messages
from keepsake.store.database import Database

TERMS_MAX = 48  # of one question; a pasted page is searched by its rarest words
PLACES_MAX = 20_000  # places read from the keyword index for one question, rarest words first
VAGUE_TERMS = 4  # a question with no more words than this is looked for together with what was said before

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


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for. `before`: only messages with a smaller id; `without`: ids that need not be found."""

    user_id: int
    text: str
    history: Sequence[str] = ()
    before: int | None = None
    without: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class _KeywordRoute:
    shares: dict[int, float]
    best: list[int]


class Recall:
    """Search over messages. `vectors` None: by keyword only."""

    def __init__(
        self,
        database: Database,
        analyse: Callable[[str], Sequence[str]],
        vectors: Vectors | None,
        *,
        scale: CosineScale,
        candidates: int = 20,
    ) -> None:
        self._database = database
        self._analyse = analyse
        self._vectors = vectors
        self._scale = scale
        self._candidates = candidates

    async def search(self, question: Question, limit: int) -> list[tuple[Message, float]]:
        """Messages with scores of 0–1, best first, at most `limit`."""
        text = self._in_context(question)
        terms = list(dict.fromkeys(self._analyse(text)))[:TERMS_MAX]
        wanted = self._candidates + len(question.without)
        words = await self._database.read(self._keyword_route, question.user_id, terms, wanted)
        meaning: dict[int, float] = {}
        if self._vectors is not None and text.strip():
            meaning = await self._vector_route(self._vectors, question.user_id, text, words.best, wanted)
        ids = set(meaning) | set(words.best)
        ids -= set(question.without)
        found = await self._database.read(
            messages.by_ids,
            question.user_id,
            [i for i in ids if question.before is None or i < question.before],
        )
        named = set(terms)
        scores = {
            message_id: combine(
                None if self._vectors is None else self._scale.stretch(meaning.get(message_id, 0.0)),
                words.shares.get(message_id, 0.0),
                self._is_named(message, named),
            )
            for message_id, message in found.items()
        }
        return [(found[message_id], score) for message_id, score in rank(scores)[:limit]]

    def _in_context(self, question: Question) -> str:
        if question.history and len(set(self._analyse(question.text))) <= VAGUE_TERMS:
            return "\n".join([*question.history[-2:], question.text])
        return question.text

    def _is_named(self, message: Message, terms: set[str]) -> bool:
        return message.sender is not None and not terms.isdisjoint(self._analyse(message.sender))

    def _keyword_route(
        self, connection: sqlite3.Connection, user_id: int, terms: Sequence[str], wanted: int
    ) -> _KeywordRoute:
        postings = keywords.rarest(connection, user_id, terms, PLACES_MAX)
        if not postings:
            return _KeywordRoute({}, [])
        documents, mean_length = keywords.totals(connection, user_id)
        matches = [
            TermMatches(p.message_ids, p.counts, keywords.lengths(connection, user_id, p.message_ids))
            for p in postings
        ]
        nowhere = [1 for term in terms if not keywords.frequency(connection, user_id, term)]
        frequencies = [p.document_frequency for p in postings] + nowhere
        shares = bm25(matches, frequencies, documents, mean_length)
        return _KeywordRoute(shares, [message_id for message_id, _ in rank(shares)[:wanted]])

    async def _vector_route(
        self, vectors: Vectors, user_id: int, text: str, also: Sequence[int], wanted: int
    ) -> dict[int, float]:
        query = await vectors.embed_query(text)
        # Facts have vectors too; twice as many leaves room for them.
        near = await vectors.nearest(user_id, query, 2 * wanted)
        cosines = {item: cosine for (kind, item), cosine in near if kind == "message"}
        missing: list[tuple[ItemKind, int]] = [("message", item) for item in also if item not in cosines]
        if missing:
            others = await vectors.cosines(user_id, query, missing)
            cosines |= {item: cosine for (_, item), cosine in others.items()}
        return cosines
