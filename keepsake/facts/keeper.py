"""What the engine does with facts: draws them from messages, keeps what it is told to, chooses the profile."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, Protocol

import numpy as np

from keepsake.errors import ContextTooLong, EmbeddingError, ModelAnswerInvalid
from keepsake.facts import profile, scoring, topics
from keepsake.facts.asking import conversation_tokens
from keepsake.facts.extract import Extraction, by_hand
from keepsake.facts.graph import People, Widened
from keepsake.facts.meant import meant
from keepsake.facts.profile import Profile
from keepsake.facts.reconcile import gate_of
from keepsake.facts.scoring import Mnemosyne, TriTier
from keepsake.facts.sensitive import holds_secret
from keepsake.facts.settle import Proposal, expire, settle
from keepsake.facts.signals import taken_back
from keepsake.facts.window import CONTEXT_TURNS, fit_window
from keepsake.index.terms import analyse, content_words
from keepsake.index.vector_storage import VectorMemoryStorage
from keepsake.jobs import Done
from keepsake.models import Fact, FactDraft, ItemKind, Job, Message, TopicNote
from keepsake.prompt import tokens
from keepsake.prompt.learned import LearnedModels
from keepsake.recall.by_meaning import PATIENCE_SECONDS
from keepsake.recall.ranking import CosineScale
from keepsake.settings import Settings
from keepsake.store import facts as fact_rows
from keepsake.store import jobs, users
from keepsake.store import messages as message_rows
from keepsake.store import topics as topic_rows
from keepsake.store.jobs import REREAD
from keepsake.store.storage import SQLiteMemoryStorage

log = logging.getLogger(__name__)

Refusal = Literal["secret", "gone"]  # why a correction was not stored

# A model may refuse a message each time it sees it: then the ones after it would never be read.
MOST_LOOKS = 5


class Extractor(Protocol):
    """Draws facts from a window of messages, asking no more than `context_tokens` (keepsake.facts.extract).

    Raises ModelError.
    """

    def __call__(
        self, window: Sequence[Message], *, now: datetime, context_tokens: int
    ) -> Awaitable[Extraction]: ...


class Named(Protocol):
    """Says which models may answer it."""

    @property
    def names(self) -> tuple[str, ...]: ...


class FactKeeper:
    """The facts of one data folder. `vectors` None: what is alike is told by words. `people`: who is who in them."""

    def __init__(
        self,
        settings: Settings,
        storage: SQLiteMemoryStorage,
        vectors: VectorMemoryStorage | None,
        scale: CosineScale,
        models: LearnedModels,
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._vectors = vectors
        self._scale = scale
        self._models = models
        self.gate = gate_of(vectors.embedder.name if vectors else None)
        self._weighting = weighting_of(settings)
        self._looks: dict[int, tuple[int, int]] = {}  # by user: a cursor, and how often what follows failed
        self.people = People()

    async def profile(self, user_id: int, query: str, now: datetime) -> Profile:
        """What is known for a question: the facts that matter most, and those of the topics that it is about."""
        held, notes, asked = await self._storage.database.read(self._known_for, user_id, query)
        known = profile.holding(held, now)
        limit = self._settings.facts_in_prompt
        # Where all of them fit their order is all there is to find out, which is not worth an embedding.
        compared = known if len(known) > limit else []
        near, found = await asyncio.gather(
            self._near(user_id, asked.wider.of(query), compared),
            # With hundreds of facts it takes milliseconds.
            asyncio.to_thread(topics.topics_of, known, notes, content_words),
        )
        similarity = near or scoring.by_words(known, analyse, query)
        linked = scoring.linked(similarity, [one for one in known if asked.links(one, analyse)])
        scores = scoring.scores(self._weighting, known, linked, now)
        chosen = profile.select(known, scores, limit)
        about = topics.matching(
            found, known, query, near, content_words, most=self._settings.topics_per_question
        )
        more = profile.of_topics(about, known, scores, chosen, self._settings.topic_facts)
        return Profile([*chosen, *more], topics.shown(found, about, self._settings.topics_in_prompt))

    def _known_for(
        self, connection: sqlite3.Connection, user_id: int, query: str
    ) -> tuple[list[Fact], dict[str, TopicNote], Widened]:
        held = fact_rows.of_user(connection, user_id)
        return held, topic_rows.of_user(connection, user_id), self.people.widen(connection, user_id, query)

    async def meant(self, user_id: int, what: str) -> list[Fact]:
        """The active facts that somebody means by a few words, best first."""
        known = await self._storage.facts(user_id)
        return meant(known, what, analyse, await self._near(user_id, what, known))

    async def remember(self, user_id: int, text: str) -> Fact | None:
        """Stores what the user asks to be remembered, as a vital fact; None for a secret, which is never stored."""
        if holds_secret(text):
            return None
        proposal = Proposal(by_hand(text))
        return await self._storage.database.write(self._keep_by_hand, user_id, proposal)

    async def correct(self, user_id: int, fact_id: int, text: str) -> Fact | Refusal:
        """Stores the user's own wording in the place of an active fact, which is kept as one that was corrected."""
        if holds_secret(text):
            return "secret"

        def write(connection: sqlite3.Connection) -> Fact | Refusal:
            wrong = next(iter(fact_rows.by_ids(connection, user_id, [fact_id])), None)
            if wrong is None or wrong.status != "active":
                return "gone"
            draft = replace(by_hand(text), category=wrong.category, type=wrong.type, topic=wrong.topic)
            return self._keep_by_hand(connection, user_id, Proposal(draft, instead_of=wrong.id))

        return await self._storage.database.write(write)

    def _keep_by_hand(self, connection: sqlite3.Connection, user_id: int, proposal: Proposal) -> Fact:
        now = self._storage.now_micros()
        users.ensure(connection, user_id, now)
        stored = settle(connection, user_id, [proposal], now=now, made_by="hand", gate=self.gate)
        self._storage.queue_facts(connection, user_id, stored)
        return fact_rows.by_ids(connection, user_id, stored)[0]

    async def extract(self, extractor: Extractor, asked: Named | None, job: Job) -> Done:
        """The job that draws facts from the next unread messages; `extractor` asks `asked`. Raises ModelError."""
        assert job.user_id is not None
        user_id = job.user_id
        cursor = await self._storage.database.read(fact_rows.cursor, user_id)
        found, _ = await self._storage.extraction_window(user_id, self._settings.extraction_window)
        window, most = await self._fitting(found, cursor, asked)
        if not window:
            return Done()
        try:
            proposals = await self._drawn(extractor, user_id, window, most)
        except ModelAnswerInvalid as error:
            return self._in_vain(user_id, cursor, window, error)
        self._looks.pop(user_id, None)

        def commit(connection: sqlite3.Connection) -> None:
            for message_id in self._settle(connection, user_id, window, proposals):
                if message_id > cursor:  # it was read as it stood before
                    self.plan_reread(connection, user_id, message_id)
            self._storage.end_extraction(connection, user_id, window[-1].id)

        return Done(commit)

    async def reread(self, extractor: Extractor, asked: Named | None, job: Job) -> Done:
        """The job that draws facts from a message that was read before and has another text now. Raises ModelError."""
        user_id, message_id = job.user_id, job.payload["message"]
        assert user_id is not None and isinstance(message_id, int)
        found = await self._storage.window_of(user_id, message_id, CONTEXT_TURNS)
        window, most = await self._fitting(found, message_id - 1, asked)
        if not window:
            return Done()
        try:
            proposals = await self._drawn(extractor, user_id, window, most)
        except ModelAnswerInvalid as error:
            log.warning("extraction: %s; an edited message is passed over", error)
            return Done()
        return Done(lambda connection: self._settle(connection, user_id, window, proposals))

    def plan_reread(self, connection: sqlite3.Connection, user_id: int, message_id: int) -> None:
        """Has facts drawn from a message that lies before the cursor: a step of a transaction."""
        now, key = self._storage.now_micros(), f"{user_id}:{message_id}"
        jobs.enqueue(connection, REREAD, key, now, user_id=user_id, payload={"message": message_id})

    async def _fitting(
        self, found: Sequence[Message], cursor: int, asked: Named | None
    ) -> tuple[list[Message], int]:
        """Those of the messages after the cursor that fit into a request, and how many tokens that may have."""
        most = (await self._models.least(asked.names if asked is not None else ())).tokens
        room, size = conversation_tokens(most, tokens.estimate), self._settings.extraction_window
        return fit_window(found, cursor=cursor, most=size, tokens=room, count=tokens.estimate), most

    async def _drawn(
        self, extractor: Extractor, user_id: int, window: Sequence[Message], most: int
    ) -> list[Proposal]:
        """What the model finds in the window. Raises ModelError."""
        try:
            extraction = await extractor(window, now=self._storage.now(), context_tokens=most)
        except ContextTooLong as error:
            await self._models.too_long(error, most)
            raise
        if extraction.refused:
            log.debug("extraction: %d facts, refused: %s", len(extraction.drafts), dict(extraction.refused))
        return await self.proposals(user_id, extraction.drafts, window)

    def _settle(
        self,
        connection: sqlite3.Connection,
        user_id: int,
        window: Sequence[Message],
        proposals: Sequence[Proposal],
    ) -> set[int]:
        """Stores what was drawn, but for what comes from messages with another text by now. Returns those."""
        held = message_rows.by_ids(connection, user_id, [message.id for message in window])
        changed = {one.id for one in window if one.id in held and held[one.id].content != one.content}
        still = [one for one in proposals if changed.isdisjoint(one.draft.message_ids)]
        now = self._storage.now_micros()
        stored = settle(connection, user_id, still, now=now, made_by="extraction", gate=self.gate)
        self._storage.queue_facts(connection, user_id, stored)
        return changed

    def _in_vain(
        self, user_id: int, cursor: int, window: Sequence[Message], error: ModelAnswerInvalid
    ) -> Done:
        """The messages are looked at again with the next ones, after MOST_LOOKS they are passed over."""
        before, looks = self._looks.get(user_id, (cursor, 0))
        looks = looks + 1 if before == cursor else 1
        if looks < MOST_LOOKS:
            self._looks[user_id] = (cursor, looks)
            log.warning("extraction: %s; the same messages are looked at again with the next ones", error)
            return Done()
        self._looks.pop(user_id, None)
        passed = sum(message.id > cursor for message in window)
        log.warning("extraction: %s; %d messages are passed over after %d looks", error, passed, looks)
        return Done(lambda connection: self._storage.end_extraction(connection, user_id, window[-1].id))

    async def idle(self, job: Job) -> Done:
        """The job of a quiet user: what is unread is looked at."""
        assert job.user_id is not None
        user_id = job.user_id
        return Done(commit=lambda connection: self._storage.extract_what_is_left(connection, user_id))

    async def expire(self, _job: Job) -> Done:
        """The job that ends what is past its date."""
        return Done(commit=self.expire_now)

    def expire_now(self, connection: sqlite3.Connection) -> None:
        """Ends what is past its date: a transaction."""
        expire(connection, self._storage.now_micros())

    async def proposals(
        self, user_id: int, drafts: Sequence[FactDraft], window: Sequence[Message]
    ) -> list[Proposal]:
        """The drafts with what is found out before they are settled: cosines with known facts, what is taken back."""
        back = taken_back(window)
        near = await self._cosines(user_id, [draft.content for draft in drafts])
        return [
            Proposal(draft, cosines, [one for source in draft.message_ids for one in back.get(source, ())])
            for draft, cosines in zip(drafts, near, strict=True)
        ]

    async def _cosines(self, user_id: int, texts: Sequence[str]) -> list[dict[int, float]]:
        nothing: list[dict[int, float]] = [{} for _ in texts]
        if self._vectors is None or not texts:
            return nothing
        keys = _keys(await self._storage.facts(user_id))
        try:
            made = await self._vectors.embedder.embed_batch(texts)
        except EmbeddingError:
            return nothing
        found = [await self._vectors.cosines(user_id, vector, keys) for vector in made]
        return [{item: cosine for (_, item), cosine in one.items()} for one in found]

    async def _near(self, user_id: int, query: str, known: Sequence[Fact]) -> dict[int, float]:
        """Similarity of the question with facts, 0–1, by meaning; empty where that cannot be told now."""
        if self._vectors is None or not known or not query.strip():
            return {}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                vector = await self._vectors.embed_query(query)
        except (EmbeddingError, TimeoutError):
            return {}
        cosines = await self._vectors.cosines(user_id, vector, _keys(known))
        shares = self._scale.stretch(np.array(list(cosines.values()))).tolist()
        return {item: share for (_, item), share in zip(cosines, shares, strict=True)}


def weighting_of(settings: Settings) -> Mnemosyne | TriTier:
    """The weighting that the settings choose."""
    if settings.fact_scoring == "tri_tier":
        return TriTier(*map(float, settings.tri_tier_weights), *map(float, settings.tri_tier_half_life_days))
    return Mnemosyne(*map(float, settings.mnemosyne_weights), *map(float, settings.mnemosyne_tau_days))


def _keys(known: Sequence[Fact]) -> list[tuple[ItemKind, int]]:
    return [("fact", fact.id) for fact in known]
