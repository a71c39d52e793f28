"""Recall of one user's messages: routes bring candidates, ranking orders them once.

No query here goes without its user, and every number that a score is made of counts that user's messages only.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from keepsake.models import Message
from keepsake.recall import by_words
from keepsake.recall.by_meaning import ByMeaning, Vectors
from keepsake.recall.by_words import ByWords
from keepsake.recall.echoes import without_echoes
from keepsake.recall.floor import above
from keepsake.recall.question import Question, Understood, understand
from keepsake.recall.ranking import CosineScale, combine, rank
from keepsake.recall.rerank import Reranking
from keepsake.recall.timeline import Float, Int64, Timeline, Timelines
from keepsake.recall.weighing import weigh
from keepsake.store import messages
from keepsake.store.database import Database

JUST_SAID = 4  # so many of the newest messages are embedded for a question that comes before their vectors do


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
        self._timelines = Timelines()

    def drop(self, user_id: int) -> None:
        """Takes out of RAM what it holds of a user."""
        self._timelines.drop(user_id)

    async def search(
        self, question: Question, limit: int, floor: float | None = None, *, by_meaning: bool = True
    ) -> list[tuple[Message, float]]:
        """Messages with scores of 0–1, best first, at most `limit`; with a `floor`, only those worth showing.

        Raises EmbeddingError where the model fails; without `by_meaning` it is not asked.
        """
        asked = understand(question, await self._database.read(messages.speakers, question.user_id))
        meaning = ByMeaning(self._vectors if by_meaning else None, question.user_id, asked)
        # The model works on its own thread while the disk is read.
        (words, timeline), _ = await asyncio.gather(
            self._database.read(self._by_words, question, asked), meaning.listen()
        )
        newest = self._newest(question, timeline)
        cosines = await meaning.nearest(2 * self._candidates, question.without)
        hits = timeline.places({*words.best, *newest.tolist(), *cosines})
        candidates = timeline.with_neighbours(hits)
        cosines |= await meaning.of(set(timeline.ids[candidates].tolist()) - cosines.keys())
        cosines |= await self._just_said(question, meaning, newest, cosines)
        ranked = self._ranked(
            question, asked, timeline, hits, candidates, words.shares, cosines, meaning.heard
        )
        if floor is not None:
            ranked = above(floor, ranked, asked, words.shares, cosines, self._scale)
        found = await self._read(question, ranked, self._reranking.needed(limit))
        return await self._reranking.order(question, asked.earlier, found, limit)

    def _by_words(
        self, connection: sqlite3.Connection, question: Question, asked: Understood
    ) -> tuple[ByWords, Timeline]:
        found = by_words.search(connection, question.user_id, asked, self._candidates, question.without)
        timeline = self._timelines.current(
            question.user_id,
            messages.count(connection, question.user_id),
            partial(messages.glances, connection),
        )
        return found, timeline

    def _newest(self, question: Question, timeline: Timeline) -> Int64:
        """Ids of what was said last, which no route may know yet; for a context it stands there already."""
        if question.without:
            return timeline.ids[:0]
        end = len(timeline) if question.before is None else np.searchsorted(timeline.ids, question.before)
        return timeline.ids[max(int(end) - self._candidates, 0) : int(end)]

    async def _just_said(
        self, question: Question, meaning: ByMeaning, newest: Int64, known: Mapping[int, float]
    ) -> dict[int, float]:
        """Cosines of the last messages that have no vector yet, but for more than a few."""
        waiting = [one for one in newest[-JUST_SAID:].tolist() if one not in known]
        if not waiting or not meaning.heard:
            return {}
        held = await self._database.read(messages.by_ids, question.user_id, waiting)
        return await meaning.of_texts([held[one] for one in waiting if one in held])

    def _ranked(
        self,
        question: Question,
        asked: Understood,
        timeline: Timeline,
        hits: Int64,
        candidates: Int64,
        shares: Mapping[int, float],
        cosines: Mapping[int, float],
        by_meaning: bool,
    ) -> list[tuple[int, float]]:
        words = _along(timeline, shares, 0.0)
        meaning = self._scale.stretch(_along(timeline, cosines, self._scale.nothing))
        ids = timeline.ids[candidates]
        wanted = ~np.isin(ids, list(question.without))
        if question.before is not None:
            wanted &= ids < question.before
        evidence = weigh(timeline, candidates[wanted], hits, words, meaning, asked.named)
        return rank(ids[wanted], combine(evidence, by_meaning=by_meaning))

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


def _along(timeline: Timeline, values: Mapping[int, float], otherwise: float) -> Float:
    """Values by message id as a column of the timeline (n,)."""
    column = np.full(len(timeline), otherwise)
    places, held = timeline.find(list(values))
    column[places[held]] = np.array(list(values.values()))[held]
    return column
