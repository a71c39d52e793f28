"""Recall of one user's messages: two routes bring candidates, ranking orders them once.

No query here goes without its user, and every number that a score is made of counts that user's messages only.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keepsake.index.terms import analyse, says_something
from keepsake.models import ItemKind, Message
from keepsake.recall.echoes import without_echoes
from keepsake.recall.ranking import CosineScale, bm25, combine, most_of, rank, rarity
from keepsake.store import keywords, messages
from keepsake.store.database import Database

TERMS_MAX = 48  # of one question; a pasted page is searched by its rarest words
# Read from the keyword index for one question, rarest words first: what stands in more messages than that is common
# enough to say little, and costs most to read.
DOCUMENTS_MAX = 10_000
SCORED_MAX = 300  # messages whose words are counted for BM25
# A question of so few words may be vague ("and when?"): the turns just before it then count a little, too. More of
# them drowns short questions that are plain.
VAGUE_TERMS = 2
TURNS = 2
EARLIER_MEANING = 0.3  # how far the question's vector is turned towards theirs
EARLIER_WORDS = 0.2  # what their words weigh beside the question's own

JUST_SAID = 4  # so many of the newest messages are embedded for a question that comes before their vectors do
PATIENCE_SECONDS = 3.0  # with the embedding model; somebody waits for the answer

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


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for. `before`: only messages with a smaller id; `without`: ids that need not be found."""

    user_id: int
    text: str
    history: Sequence[str] = ()
    before: int | None = None
    without: Collection[int] = ()


class Recall:
    """Search over messages. `vectors` None: by keyword only."""

    def __init__(
        self,
        database: Database,
        vectors: Vectors | None,
        *,
        scale: CosineScale,
        candidates: int = 20,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._scale = scale
        self._candidates = candidates

    async def search(self, question: Question, limit: int) -> list[tuple[Message, float]]:
        """Messages with scores of 0–1, best first, at most `limit`."""
        terms, said_before, earlier = _understood(question)
        wanted = self._candidates + len(question.without)
        # The model works on its own thread while the disk is read.
        keyword_route = self._database.read(self._keyword_route, question.user_id, terms, said_before)
        words, query = await asyncio.gather(keyword_route, self._embedded(question.text, earlier))
        best = [message_id for message_id, _ in rank(words)[:wanted]]
        newest = await self._newest(question)
        meaning: dict[int, float] = {}
        if self._vectors is not None and query is not None:
            also = [*best, *(message.id for message in newest)]
            meaning = await self._vector_route(self._vectors, question.user_id, query, also, wanted)
            meaning |= await self._just_said(self._vectors, query, newest, meaning)
        ids = {*meaning, *best, *(message.id for message in newest)} - set(question.without)
        older = [one for one in ids if question.before is None or one < question.before]
        found = await self._database.read(messages.by_ids, question.user_id, older)
        named = set(terms)
        scores = {
            message_id: combine(
                None if query is None else self._scale.stretch(meaning.get(message_id, 0.0)),
                words.get(message_id, 0.0),
                self._is_named(message, named),
            )
            for message_id, message in found.items()
        }
        ranked = [(found[message_id], score) for message_id, score in rank(scores)]
        return without_echoes(ranked, question.text)[:limit]

    async def _newest(self, question: Question) -> list[Message]:
        """What was said last, which no route may know yet; for a context it stands there already."""
        if question.without:
            return []
        return await self._database.read(messages.last, question.user_id, self._candidates, question.before)

    async def _just_said(
        self, vectors: Vectors, query: Vector, newest: Sequence[Message], known: Mapping[int, float]
    ) -> dict[int, float]:
        """Cosines of the last messages that have no vector yet, but for more than a few."""
        waiting = [message for message in newest[-JUST_SAID:] if message.id not in known]
        return {one.id: float(await vectors.embed_query(one.content) @ query) for one in waiting}

    def _is_named(self, message: Message, terms: set[str]) -> bool:
        return message.sender is not None and not terms.isdisjoint(analyse(message.sender))

    async def _embedded(self, text: str, earlier: Sequence[str]) -> Vector | None:
        """The question's vector, turned a little towards the turns before it.

        None where there is no model, or it takes too long: it may be loading, or many ask at once.
        """
        if self._vectors is None or not text.strip():
            return None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._turned(self._vectors, text, earlier)
        except TimeoutError:
            log.warning("recall by keyword only: the embedding model takes too long")
            return None

    @staticmethod
    async def _turned(vectors: Vectors, text: str, earlier: Sequence[str]) -> Vector:
        query = await vectors.embed_query(text)
        if not earlier:
            return query
        # These texts were embedded not long ago, as messages: the embedder still knows them.
        turns = [await vectors.embed_query(turn) for turn in earlier]
        turned = query + EARLIER_MEANING * np.mean(turns, axis=0)
        return np.asarray(turned / np.linalg.norm(turned), dtype=np.float32)

    def _keyword_route(
        self, connection: sqlite3.Connection, user_id: int, asked: Sequence[str], said_before: Sequence[str]
    ) -> dict[int, float]:
        """BM25 shares of the messages that hold most of the question's words."""
        terms = [*asked, *said_before]
        documents, mean_length = keywords.totals(connection, user_id)
        frequencies = np.array(
            [keywords.frequency(connection, user_id, term) for term in terms], dtype=np.int64
        )
        weights = rarity(frequencies, documents)
        weights[len(asked) :] *= EARLIER_WORDS
        matches: list[tuple[NDArray[np.int64], float]] = []
        room = DOCUMENTS_MAX
        for column in np.argsort(frequencies, kind="stable").tolist():
            if room > 0 and frequencies[column]:
                found = keywords.documents(connection, user_id, terms[column], room)
                matches.append((found, float(weights[column])))
                room -= len(found)
        best = most_of(matches, SCORED_MAX)
        ids, counts, lengths = keywords.counts(connection, user_id, best, terms)
        return dict(zip(ids, bm25(counts, lengths, weights, mean_length).tolist(), strict=True))

    async def _vector_route(
        self, vectors: Vectors, user_id: int, query: Vector, also: Sequence[int], wanted: int
    ) -> dict[int, float]:
        # Facts have vectors too; twice as many leaves room for them.
        near = await vectors.nearest(user_id, query, 2 * wanted)
        cosines = {item: cosine for (kind, item), cosine in near if kind == "message"}
        missing: list[tuple[ItemKind, int]] = [("message", item) for item in also if item not in cosines]
        if missing:
            others = await vectors.cosines(user_id, query, missing)
            cosines |= {item: cosine for (_, item), cosine in others.items()}
        return cosines


def _understood(question: Question) -> tuple[list[str], list[str], list[str]]:
    """The question's terms; those of the turns before it and these turns themselves, where it may be vague."""
    terms = list(dict.fromkeys(analyse(question.text)))[:TERMS_MAX]
    plain = says_something(question.text)
    if plain and len(terms) > VAGUE_TERMS:
        return terms, [], []
    turns = [turn for turn in question.history[-TURNS:] if turn.strip()]
    if turns and not plain:
        terms = []
    earlier = dict.fromkeys(term for turn in turns for term in analyse(turn))
    return terms, [term for term in earlier if term not in terms][: TERMS_MAX - len(terms)], turns
