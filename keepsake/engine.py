"""The engine behind both doors: it joins store, index, recall, facts and the background queue.

It knows who calls whom and no rules of its own. Open it with `Engine.open` (the owner of the folder) or
`Engine.open_reader` (a command beside a running bot: read-only, without Chroma).
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial

from keepsake.accounts import UserAccount
from keepsake.archive.service import Archive, check_settings
from keepsake.clock import Clock, system_clock, utc_day
from keepsake.errors import EmbeddingError
from keepsake.facts import claims
from keepsake.facts.dream import last_report, look_at
from keepsake.facts.keeper import FactKeeper, Refusal
from keepsake.facts.signals import is_urgent
from keepsake.forgetting.ledger import Ledger
from keepsake.forgetting.removal import SCRUB, Removal
from keepsake.forgetting.removing import outdated
from keepsake.forgetting.service import Forgetting, Pause
from keepsake.index import terms
from keepsake.index.embedder import Embedder
from keepsake.index.terms import analyse
from keepsake.index.vector_storage import VectorMemoryStorage
from keepsake.jobs import JobRunner
from keepsake.lanes import ASKS_A_MODEL, Workshop
from keepsake.models import AnswerEvent, Fact, FactChange, Message
from keepsake.parts import Parts
from keepsake.portability.backup import tidy
from keepsake.privacy import Privacy
from keepsake.prompt.context import Contexts
from keepsake.prompt.learned import LearnedModels
from keepsake.prompt.summaries import compaction_rules
from keepsake.recall import question as questions
from keepsake.recall.floor import calibration
from keepsake.recall.question import Question
from keepsake.recall.rerank import Reranker, Reranking
from keepsake.recall.search import Recall
from keepsake.settings import Settings
from keepsake.store import embeddings, facts, usage
from keepsake.store.database import Database
from keepsake.store.messages import NewMessage
from keepsake.store.storage import Also, SQLiteMemoryStorage

log = logging.getLogger(__name__)


class Engine:
    """One data folder's memory, bound to the event loop it was opened on."""

    def __init__(
        self, settings: Settings, storage: SQLiteMemoryStorage, parts: Parts, clock: Clock, *, read_only: bool
    ) -> None:
        self.settings = settings
        self.storage = storage
        self.clock = clock
        self._forgotten: Sequence[Callable[[int], None]] = ()
        self._pauses: Sequence[Pause] = ()
        self._parts = parts
        self._vectors = self._make_vectors(parts, clock)
        self._calibration = calibration(parts.embedder.name if parts.embedder else None)
        self.privacy = Privacy(
            storage.database, gap=timedelta(minutes=settings.session_gap_minutes), clock=clock
        )
        self.models = LearnedModels(storage.database, settings, clock)
        self._facts = FactKeeper(settings, storage, self._vectors, self._calibration.scale, self.models)
        self._recall = self._make_recall(parts)
        self.contexts = Contexts(
            settings, storage, self.models, profile=self._facts.profile, search=self.search
        )
        ledger = Ledger(settings.data_dir)
        self.archive = self._make_archive(parts, ledger)
        self.forgetting = self._make_forgetting(parts, ledger)
        self.removal = self._make_removal(parts, ledger)
        self._runner = None if read_only else self._make_runner(parts)

    def _make_recall(self, parts: Parts) -> Recall:
        return Recall(
            self.storage.database,
            self._vectors,
            scale=self._calibration.scale,
            candidates=self.settings.recall_candidates,
            reranking=Reranking(parts.reranker, self.settings.reranker_candidates),
            widen=self._facts.people.wider,
        )

    def _make_archive(self, parts: Parts, ledger: Ledger) -> Archive:
        return Archive(
            self.storage.database,
            self.settings,
            ledger,
            self.clock,
            looked_at=parts.extractor is not None or parts.model_comes_later,
            dropped=self._drop_messages,
            wake=self._wake,
        )

    def _make_forgetting(self, parts: Parts, ledger: Ledger) -> Forgetting:
        return Forgetting(
            self.storage.database,
            parts.chroma,
            self.settings.data_dir,
            self.clock,
            stop=self._stop_jobs,
            drop=self._drop_person,
            pause=self._pause,
            ledger=ledger,
            archive=self.archive,
        )

    def _make_removal(self, parts: Parts, ledger: Ledger) -> Removal:
        return Removal(
            self.settings,
            self.storage,
            self._vectors,
            parts.chroma,
            ledger,
            self.archive,
            meant=self._facts.meant,
            drop=self._drop_from_ram,
            wake=self._wake,
        )

    def _make_runner(self, parts: Parts) -> JobRunner:
        lanes = Workshop(
            self.settings,
            self.storage,
            parts,
            self.clock,
            vectors=self._vectors,
            facts=self._facts,
            models=self.models,
            forgetting=self.forgetting,
            removal=self.removal,
            archive=self.archive,
            account=self.account,
        ).lanes()
        return JobRunner(self.storage.database, lanes, self.clock)

    def _make_vectors(self, parts: Parts, clock: Clock) -> VectorMemoryStorage | None:
        if parts.embedder is None:
            return None
        return VectorMemoryStorage(
            self.storage.database,
            parts.embedder,
            parts.chroma,
            exact_limit=self.settings.exact_search_limit,
            cache_bytes=self.settings.vector_cache_mb * 1_000_000,
            clock=clock,
        )

    @classmethod
    async def open(
        cls,
        settings: Settings,
        parts: Parts,
        *,
        clock: Clock = system_clock,
        forgotten: Sequence[Callable[[int], None]] = (),
        pauses: Sequence[Pause] = (),
    ) -> Engine:
        """Opens the folder for reading and writing and starts the background work. The caller holds its lock.

        `forgotten` are told of every erased user, to drop what RAM holds; `pauses` keep front ends from handling what
        a user says while they are erased.
        """
        await asyncio.to_thread(check_settings, settings)
        storage = await SQLiteMemoryStorage.open(
            settings.database_path,
            analyse=analyse,
            session_gap=timedelta(minutes=settings.session_gap_minutes),
            extraction_every=settings.fact_extraction_every,
            extraction_idle=timedelta(minutes=settings.extraction_idle_minutes),
            urgent=partial(is_urgent, long_message=settings.long_message),
            with_vectors=parts.embedder is not None,
            compaction=compaction_rules(settings),
            clock=clock,
        )
        engine = cls(settings, storage, parts, clock, read_only=False)
        engine._forgotten, engine._pauses = forgotten, pauses
        if engine._vectors is not None:
            await engine._vectors.prepare()
        await engine.forgetting.replay()
        await engine.privacy.load()
        await asyncio.to_thread(tidy, settings.database_path)
        if parts.reranker is not None:
            parts.reranker.prepare()
        assert engine._runner is not None
        await storage.database.write(engine._facts.expire_now)
        await storage.database.write(engine.archive.start)
        if parts.serving:
            now = storage.now_micros()
            await storage.database.write(look_at, now, now)
        await engine._runner.start()
        engine._runner.hurry(SCRUB)
        engine.catch_up()  # a setting that something waited for may be another now
        return engine

    @classmethod
    async def open_reader(
        cls,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        clock: Clock = system_clock,
    ) -> Engine:
        """Opens memory.db read-only. Recall is by keyword, and by exact search where an embedder is given."""
        storage = SQLiteMemoryStorage(
            await Database.open_reader(settings.database_path), analyse=analyse, clock=clock
        )
        return cls(settings, storage, Parts(embedder, reranker=reranker), clock, read_only=True)

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.stop()
            await self.removal.finish()
        await self.storage.close()

    def abandon(self) -> None:
        """Lets go without waiting, where the event loop has ended before `close`."""
        self.storage.database.abandon()

    async def flush(self) -> None:
        """Waits for all background work that is due."""
        if self._runner is not None:
            await self._runner.flush()

    async def save(self, new: NewMessage, also: Also | None = None) -> Message:
        """Stores a message; when this returns it is durable and can be found by keyword."""
        message = await self.storage.save_message(new, also)
        self._wake()
        return message

    async def save_answer(
        self, question: Message, new: NewMessage, also: Also | None = None
    ) -> Message | None:
        """Stores what answers a message; None where that was erased meanwhile."""
        message = await self.storage.save_answer(question.id, new, also)
        self._wake()
        return message

    async def edit(self, user_id: int, key: str, text: str) -> Message | None:
        """Gives a message another text. Returns it, None where no message has this key."""
        message = await self.storage.edit_message(user_id, key, text, self._edited)
        if message is not None and self._vectors is not None:
            self._vectors.drop_one(user_id, "message", message.id)
        self._wake()
        return message

    def _edited(self, connection: sqlite3.Connection, message: Message) -> None:
        """What was known from the old text goes, and the new one is read: a step of the transaction of the edit."""
        outdated(connection, message, self.storage.now_micros())
        if message.role == "user" and message.id <= facts.cursor(connection, message.user_id):
            self._facts.plan_reread(connection, message.user_id, message.id)

    async def record_answer(self, event: AnswerEvent) -> None:
        """Keeps what an answer cost, and learns from it how its model counts."""
        await self.storage.record_answer(event)
        await self.models.answered(event)

    async def search(
        self, question: Question, limit: int, *, above_floor: bool = False
    ) -> list[tuple[Message, float]]:
        """Messages about a question, best first; `above_floor`: only those that are worth showing."""
        if limit == 0:
            return []
        floor = self.floor if above_floor else None
        try:
            return await self._recall.search(question, limit, floor)
        except EmbeddingError as error:
            log.warning("recall by keyword only: %s", error)
            return await self._recall.search(question, limit, floor, by_meaning=False)

    @property
    def floor(self) -> float:
        """Scores under this are not worth showing."""
        return self.settings.rag_floor if self.settings.rag_floor is not None else self._calibration.floor

    async def remember(self, user_id: int, text: str) -> Fact | None:
        """Stores what the user asks to be remembered; None for a secret, which is never stored."""
        fact = await self._facts.remember(user_id, text)
        self._wake()
        return fact

    async def correct(self, user_id: int, fact_id: int, text: str) -> Fact | Refusal:
        """As `FactKeeper.correct`."""
        corrected = await self._facts.correct(user_id, fact_id, text)
        self._wake()
        return corrected

    async def facts(self, user_id: int, *, all_statuses: bool = False) -> list[Fact]:
        return await self.storage.facts(user_id, all_statuses=all_statuses)

    async def fact_history(self, user_id: int) -> list[FactChange]:
        return await self.storage.fact_history(user_id)

    async def stats(self, user_id: int) -> dict[str, object]:
        """Counts of what is held for a user (contract.md, get_memory_stats)."""
        counts: dict[str, object] = {**await self.storage.counts(user_id)}
        embedder = self._parts.embedder
        model = embedder.name if embedder else None
        vectors = await self.storage.database.read(embeddings.count, user_id, model) if model else 0
        tokens_used = await self.storage.database.read(usage.counts, utc_day(self.clock()), user_id)
        return {
            **counts,
            "hybrid_mode": embedder is not None,
            "vector_documents": vectors,
            "vector_model": model,
            "tokens_today": tokens_used.day,
            "tokens_this_month": tokens_used.month,
            "tokens_estimated": tokens_used.month_estimated,
            "daily_tokens": self.settings.daily_tokens,
            "consolidated": await self.storage.database.read(last_report, user_id),
        }

    async def totals(self) -> dict[str, int]:
        """Counts over everybody: people, messages, facts, and tokens of today and of this month."""
        used = await self.storage.database.read(usage.counts, utc_day(self.clock()))
        counts = await self.storage.totals()
        return {**counts, "tokens_today": used.day, "tokens_this_month": used.month}

    # Background work

    def _wake(self) -> None:
        if self._runner is not None:
            self._runner.wake()

    def account(self, user_id: int) -> UserAccount:
        """Counts what models are asked for a user (keepsake.llm.account)."""
        return UserAccount(self.storage.database, user_id, daily=self.settings.daily_tokens, clock=self.clock)

    def catch_up(self) -> None:
        """A model answers again: what was put off because it did not is due."""
        if self._runner is not None:
            for kind in ASKS_A_MODEL:
                self._runner.hurry(kind)

    async def begin_erasure(self, user_id: int, told: dict[str, object] | None = None) -> int | None:
        """As `Forgetting.begin`."""
        job_id = await self.forgetting.begin(user_id, told)
        self._wake()
        return job_id

    async def _stop_jobs(self, user_id: int) -> None:
        if self._runner is not None:
            await self._runner.quiesce(user_id)

    @asynccontextmanager
    async def _pause(self, user_id: int) -> AsyncIterator[None]:
        async with AsyncExitStack() as paused:
            for pause in self._pauses:
                await paused.enter_async_context(pause(user_id))
            yield

    def _drop_person(self, user_id: int) -> None:
        self.removal.drop(user_id)
        self.privacy.forget(user_id)  # with the row: who is only changed stays paused
        self._drop_from_ram(user_id)

    def _drop_messages(self, user_id: int) -> None:
        self._recall.drop(user_id)
        if self._vectors is not None:
            self._vectors.drop(user_id)

    def _drop_from_ram(self, user_id: int) -> None:
        self._drop_messages(user_id)
        if self._vectors is not None:
            self._vectors.embedder.forget_cached()
        claims.forget_cached()
        self._facts.people.drop(user_id)
        terms.forget_cached()
        questions.forget_cached()
        for tell in self._forgotten:
            tell(user_id)
