"""Recall of one user's messages: routes bring candidates, ranking orders them once.

No query here goes without its user, and every number that a score is made of counts that user's messages only.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from keepsake.clock import to_micros
from keepsake.models import Message
from keepsake.recall import by_words
from keepsake.recall.by_meaning import ByMeaning, Vectors
from keepsake.recall.by_words import ByWords
from keepsake.recall.dates import carries_time
from keepsake.recall.echoes import without_echoes
from keepsake.recall.floor import above
from keepsake.recall.question import Question, Understood, Wider, understand
from keepsake.recall.ranking import CosineScale, Evidence, combine, newer_first, rank
from keepsake.recall.rerank import Reranking
from keepsake.recall.timeline import Bools, Float, Int64, Timeline, Timelines
from keepsake.recall.weighing import weigh
from keepsake.store import messages
from keepsake.store.database import Database

JUST_SAID = 4  # so many of the newest messages are embedded for a question that comes before their vectors do


Widen = Callable[[sqlite3.Connection, int, str], Wider]
"""Other names of those whom a user's question names (keepsake.facts.graph)."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Messages that may be about a question: ids (n,) and what speaks for each.

    `words` (shares, 0–1) and `cosines` by id; `by_meaning`: whether the embedding model has answered.
    """

    asked: Understood
    ids: Int64
    evidence: Evidence
    words: Mapping[int, float]
    cosines: Mapping[int, float]
    by_meaning: bool


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
        widen: Widen | None = None,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._scale = scale
        self._candidates = candidates
        self._reranking = reranking or Reranking()
        self._widen = widen
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
        found = await self.candidates(question, by_meaning=by_meaning)
        ranked = rank(found.ids, combine(found.evidence, by_meaning=found.by_meaning))
        if floor is not None:
            ranked = above(floor, ranked, found.asked, found.words, found.cosines, self._scale)
        if not found.asked.named:
            about = np.atleast_1d(found.evidence.meaning + found.evidence.words).tolist()
            ranked = newer_first(ranked, dict(zip(found.ids.tolist(), about, strict=True)))
        held = await self._read(question, ranked, self._reranking.needed(limit))
        return await self._reranking.order(question, found.asked.earlier, held, limit)

    async def candidates(self, question: Question, *, by_meaning: bool = True) -> Candidates:
        """What the three routes bring, with its neighbours, and what speaks for each. Raises EmbeddingError."""
        asked = understand(question, *await self._database.read(self._known_people, question))
        meaning = ByMeaning(self._vectors if by_meaning else None, question.user_id, asked)
        # The model works on its own thread while the disk is read, and takes longer: it begins first.
        _, (words, timeline) = await asyncio.gather(
            meaning.listen(), self._database.read(self._by_words, question, asked)
        )
        said_then = timeline.said_in((to_micros(one.start), to_micros(one.end)) for one in asked.periods)
        by_time = self._by_time(question, timeline, said_then if asked.periods else None)
        cosines = await meaning.nearest(2 * self._candidates, question.without)
        hits = timeline.places({*words.best, *by_time.tolist(), *cosines})
        places = timeline.with_neighbours(hits)
        cosines |= await meaning.of(set(timeline.ids[places].tolist()) - cosines.keys())
        cosines |= await self._just_said(question, meaning, by_time, cosines)
        places = places[_wanted(timeline.ids[places], question)]
        ids = timeline.ids[places]
        evidence = weigh(
            timeline,
            places,
            hits,
            _along(timeline, words.shares, 0.0),
            self._scale.stretch(_along(timeline, cosines, self._scale.nothing)),
            matches=words.matches,
            weight=words.weight,
            named=asked.named,
            said_then=said_then,
        )
        if asked.asks_when:
            tells = await self._database.read(_tell_when, question.user_id, ids.tolist())
            evidence = replace(evidence, tells_when=tells)
        return Candidates(asked, ids, evidence, words.shares, cosines, meaning.heard)

    def _known_people(
        self, connection: sqlite3.Connection, question: Question
    ) -> tuple[Sequence[str], Wider]:
        """Who has spoken in this memory, and who is who of those whom the question names."""
        speakers = messages.speakers(connection, question.user_id)
        if self._widen is None:
            return speakers, Wider()
        return speakers, self._widen(connection, question.user_id, question.text)

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

    def _by_time(self, question: Question, timeline: Timeline, said_then: Bools | None) -> Int64:
        """Ids of the newest messages of the time that is named; where none is, of what no other route may know yet."""
        if said_then is None and question.without:
            return timeline.ids[:0]  # for a context that stands there already
        ids = timeline.ids if said_then is None else timeline.ids[said_then]
        return ids[_wanted(ids, question)][-self._candidates :]

    async def _just_said(
        self, question: Question, meaning: ByMeaning, newest: Int64, known: Mapping[int, float]
    ) -> dict[int, float]:
        """Cosines of the last messages that have no vector yet, but for more than a few."""
        waiting = [one for one in newest[-JUST_SAID:].tolist() if one not in known]
        if not waiting or not meaning.heard:
            return {}
        held = await self._database.read(messages.by_ids, question.user_id, waiting)
        return await meaning.of_texts([held[one] for one in waiting if one in held])

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


def _tell_when(connection: sqlite3.Connection, user_id: int, ids: Sequence[int]) -> Float:
    """Which of these messages name a time. On the database's thread, since their texts may be long."""
    held = messages.by_ids(connection, user_id, ids)
    return np.array([one in held and carries_time(held[one].content) for one in ids], dtype=np.float64)


def _wanted(ids: Int64, question: Question) -> Bools:
    wanted = ~np.isin(ids, list(question.without))
    if question.before is not None:
        wanted &= ids < question.before
    return wanted


def _along(timeline: Timeline, values: Mapping[int, float], otherwise: float) -> Float:
    """Values by message id as a column of the timeline (n,)."""
    column = np.full(len(timeline), otherwise)
    places, held = timeline.find(list(values))
    column[places[held]] = np.array(list(values.values()))[held]
    return column
