"""What both doors share: one lazily opened engine, checked arguments, and life across event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from keepsake.accounts import LazyAccount, UserAccount
from keepsake.arguments import (
    checked_before,
    checked_content,
    checked_message,
    checked_number,
    checked_text,
    checked_time,
    checked_user,
)
from keepsake.clock import Clock, system_clock
from keepsake.engine import Engine
from keepsake.errors import ContextTooLong
from keepsake.facts.extract import extract
from keepsake.facts.keeper import Refusal
from keepsake.forgetting.removal import Removal
from keepsake.forgetting.service import Pause
from keepsake.index.chroma import ChromaIndex
from keepsake.index.cross_encoder import open_reranker
from keepsake.index.embedder import Embedder, open_embedder
from keepsake.index.terms import analyse
from keepsake.llm.account import Account
from keepsake.llm.client import ChatModel
from keepsake.llm.factory import open_extraction_model, open_model
from keepsake.llm.local import endpoint_configured, local_model_wanted
from keepsake.lock import FolderLock
from keepsake.models import AnswerEvent, DialogSession, Fact, FactChange, Memories, Message, Reason
from keepsake.parts import Parts
from keepsake.privacy import Privacy
from keepsake.prompt import tokens
from keepsake.prompt.context import Recalled
from keepsake.recall.question import Question
from keepsake.recall.rerank import Reranker
from keepsake.settings import Settings, load_settings
from keepsake.store.storage import Also

if TYPE_CHECKING:
    from bot_models.user_state import StateManager, UserState

_MOST = 2**31  # messages in a block; more fit nowhere, and sums of larger sizes not into SQLite


class MemoryManager:
    """Memory over SQLite alone: recall is by keyword.

    Everything is opened at the first call, and anew after `close` or in another event loop. `settings` None: they
    are read from the environment each time it opens. `model` extracts facts; None: the endpoint of the settings does,
    and without one extraction waits. `lock`: the folder's lock, where the caller holds it already. `serving` False: a
    command, which is gone again before the local model were loaded; what that model would write waits for the bot.
    Every method may raise the errors of `keepsake.errors` (FolderHeld, DatabaseError, SettingError…).
    """

    with_index = False

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        chroma: ChromaIndex | None = None,
        reranker: Reranker | None = None,
        model: ChatModel | None = None,
        clock: Clock = system_clock,
        lock: FolderLock | None = None,
        serving: bool = True,
    ) -> None:
        self._given = settings
        self._embedder = embedder
        self._chroma = chroma
        self._reranker = reranker
        self._model = model
        self._clock = clock
        self._lock = lock
        self._serving = serving
        self._forgotten: list[Callable[[int], None]] = []
        self._pauses: list[Pause] = []
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()

    async def engine(self) -> Engine:
        """The engine, opened where it is not. Raises as `Engine.open` and `FolderLock.acquire` do."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._leave_old_loop(loop)
        async with self._opening:
            if self._engine is None:
                self._engine = await self._open()
            return self._engine

    def _leave_old_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._engine is not None:
            self._engine.abandon()
        self._engine = None
        self._loop = loop
        self._opening = asyncio.Lock()

    async def _open(self) -> Engine:
        settings = self._given or load_settings()
        if self._lock is None:
            lock = FolderLock(settings.data_dir)
            lock.acquire()
            self._lock = lock
        try:
            parts = self._parts(settings)
            return await Engine.open(
                settings, parts, clock=self._clock, forgotten=self._forgotten, pauses=self._pauses
            )
        except BaseException:
            self._release()
            raise

    def _parts(self, settings: Settings) -> Parts:
        if self._model is None and endpoint_configured(settings):
            self._model = open_extraction_model(settings, open_model(settings))
        if self._model is not None:
            self._model.breaker.when_back(self.catch_up)
        draw = partial(extract, self._model, terms=analyse, count=tokens.estimate) if self._model else None
        later = self._model is None and not self._serving and local_model_wanted(settings)
        if not self.with_index:
            return Parts(extractor=draw, model=self._model, model_comes_later=later, serving=self._serving)
        if self._embedder is None:
            self._embedder = open_embedder(settings.embedding_model)
        if self._chroma is None and self._embedder is not None:
            self._chroma = ChromaIndex(settings.vector_dir)
        if self._reranker is None:
            self._reranker = open_reranker(settings.reranker_model)
        return Parts(self._embedder, self._chroma, draw, self._reranker, self._model, later, self._serving)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def save_message(
        self,
        user_id: int | str,
        role: str,
        content: str,
        *,
        created_at: datetime | None = None,
        sender: str | None = None,
        sender_id: int | str | None = None,
        key: str | None = None,
        also: Also | None = None,
    ) -> Message:
        """Stores a message; when this returns it is durable and can be found by keyword.

        `key`: a name of the caller's for it; a message of this user with the same key is stored once, and returned
        again as it stands. `also` is run in the transaction that stores it.
        Raises ValueError for a user, role, content or time that cannot be. Characters that cannot be stored (lone
        surrogates, NUL) are replaced.
        """
        moment = self._clock() if created_at is None else created_at
        new = checked_message(user_id, role, content, moment, sender, sender_id, key)
        return await (await self.engine()).save(new, also)

    async def save_answer(
        self,
        question: Message,
        content: str,
        *,
        created_at: datetime | None = None,
        key: str | None = None,
        also: Also | None = None,
    ) -> Message | None:
        """Stores the assistant's answer to a message; None, and nothing, where that was erased meanwhile."""
        moment = created_at or self._clock()
        new = checked_message(question.user_id, "assistant", content, moment, None, None, key)
        return await (await self.engine()).save_answer(question, new, also)

    async def edit_message(self, user_id: int | str, key: str, content: str) -> Message | None:
        """Gives the message that was saved with `key` another text; None where there is none.

        It is found by the new text from then on. Raises ValueError as `save_message` does.
        """
        user, text = checked_user(user_id), checked_content(content)
        return await (await self.engine()).edit(user, key, text)

    async def load_history_to_state(
        self, user_id: int | str, state: UserState, state_manager: StateManager
    ) -> int:
        """Fills a user's state with the last messages, once. Returns how many were restored."""
        user = checked_user(user_id)
        if state_manager.is_history_loaded(user):
            return 0
        engine = await self.engine()
        restored = await engine.storage.last_messages(user, engine.settings.max_messages)
        unread = await engine.storage.unread_user_messages(user)
        if state_manager.is_history_loaded(user):  # somebody else was faster while this one read
            return 0
        state.ai_chat_history.clear()
        for message in restored:
            state.add(message.role, message.content)
        state.messages_since_fact_extract = unread
        state_manager.mark_history_loaded(user)
        return len(restored)

    async def get_context(
        self,
        user_id: int | str,
        query: str,
        stm_size: int = 5,
        ltm_size: int = 15,
        *,
        before: int | None = None,
        now: datetime | None = None,
    ) -> str:
        """The context block for a question (contract.md). `before`: without that message and all after it."""
        user, text = checked_user(user_id), checked_text(query)
        stm = checked_number("stm_size", stm_size, least=0)
        ltm = checked_number("ltm_size", ltm_size, least=0)
        checked_before(before)
        checked_time(now)
        engine = await self.engine()
        recalled = await engine.contexts.recall(
            user, text, stm_size=min(stm, _MOST), ltm_size=min(ltm, _MOST), before=before, now=now
        )
        return recalled.block

    async def recall(
        self,
        user_id: int | str,
        query: str,
        *,
        before: int | None = None,
        model: str | None = None,
        said: Sequence[Message] = (),
        remembered: bool = True,
    ) -> Recalled:
        """The context block with what stands in it, sizes as the settings have them, as it fits `model`.

        `said`: what was said since and is not kept; `remembered` False: the block has only that.
        """
        user, text = checked_user(user_id), checked_text(query)
        checked_before(before)
        return await (await self.engine()).contexts.recall(
            user, text, before=before, model=model, said=said, remembered=remembered
        )

    async def privacy(self) -> Privacy:
        """Who has asked that nothing is kept."""
        return (await self.engine()).privacy

    async def too_long(self, refusal: ContextTooLong, requested: int) -> None:
        """A request of `requested` tokens was refused: the next ones to that model are shorter."""
        await (await self.engine()).models.too_long(refusal, requested)

    async def search_memory(
        self,
        user_id: int | str,
        query: str,
        limit: int = 5,
        *,
        history: Sequence[str] = (),
        now: datetime | None = None,
    ) -> list[tuple[Message, float]]:
        """Messages about `query` with scores of 0–1, best first.

        `history`: the turns before it, oldest first; `now`: what "yesterday" is counted from, default the clock's.
        """
        user = checked_user(user_id)
        checked_time(now)
        checked_number("limit", limit, least=1)
        turns = [checked_text(turn) for turn in history]
        question = Question(user, checked_text(query), history=turns, now=now or self._clock())
        return await (await self.engine()).search(question, limit)

    async def find(
        self, user_id: int | str, query: str, limit: int = 5, *, before: int | None = None
    ) -> list[tuple[Message, float]]:
        """What /search shows: as `search_memory`, but only what is above the floor, and older than `before`."""
        checked_number("limit", limit, least=1)
        checked_before(before)
        question = Question(checked_user(user_id), checked_text(query), before=before, now=self._clock())
        return await (await self.engine()).search(question, limit, above_floor=True)

    async def search_archive(self, user_id: int | str, query: str, limit: int) -> list[tuple[Message, float]]:
        """Archived messages that hold words of `query` with scores, best first. Raises ArchiveError."""
        user, text = checked_user(user_id), checked_text(query)
        return await (await self.engine()).archive.search(user, text, limit)

    async def get_messages(self, user_id: int | str, ids: Sequence[int]) -> list[Message]:
        """Those messages of the user's that are still held, in the order of `ids`."""
        wanted = [checked_number("id", one) for one in ids]
        return await (await self.engine()).storage.messages(checked_user(user_id), wanted)

    def when_forgotten(self, tell: Callable[[int], None]) -> None:
        """Has `tell` called with the id of every person who is erased, to drop what RAM holds of them."""
        self._forgotten.append(tell)

    def while_erasing(self, pause: Pause) -> None:
        """Has the context `pause(user_id)` entered around every erasure, to keep back what the person says then."""
        self._pauses.append(pause)

    async def begin_erasure(self, user_id: int | str, told: dict[str, object] | None = None) -> int | None:
        """Queues the erasure of all that is held about a user; its number, None where it waits already.

        `told`: where a front end sends the receipt. Raises ErasureHeld where a legal hold stands.
        """
        return await (await self.engine()).begin_erasure(checked_user(user_id), told)

    async def erased(self, erasure: int) -> dict[str, object]:
        """The receipt of an erasure, once it is done; empty where nothing was held."""
        return await (await self.engine()).forgetting.result(erasure)

    async def get_memory_stats(self, user_id: int | str) -> dict[str, object]:
        """Counts of what is held for a user: sessions, messages, facts, vectors."""
        return await (await self.engine()).stats(checked_user(user_id))

    async def get_totals(self) -> dict[str, int]:
        """How much is held and was used in all: numbers for an admin, never contents."""
        return await (await self.engine()).totals()

    async def get_facts(self, user_id: int | str, *, all_statuses: bool = False) -> list[Fact]:
        """The user's facts, oldest first; only active ones unless `all_statuses`."""
        return await (await self.engine()).facts(checked_user(user_id), all_statuses=all_statuses)

    async def get_fact_history(self, user_id: int | str) -> list[FactChange]:
        """What happened to the user's facts, oldest first."""
        return await (await self.engine()).fact_history(checked_user(user_id))

    async def remember(self, user_id: int | str, text: str) -> Fact | None:
        """Stores what the user asks to be remembered, at once, as a vital fact.

        None where it holds a password, a key or a card number. Raises ValueError for an empty text.
        """
        user, content = checked_user(user_id), checked_content(text)
        return await (await self.engine()).remember(user, content)

    async def correct(self, user_id: int | str, fact_id: int, text: str) -> Fact | Refusal:
        """Stores the user's own wording in the place of an active fact; "secret" or "gone" where it was not."""
        user, content = checked_user(user_id), checked_content(text)
        return await (await self.engine()).correct(user, checked_number("fact_id", fact_id), content)

    async def removal(self) -> Removal:
        """What forgets single facts and messages, and undoes it."""
        return (await self.engine()).removal

    async def why(self, user_id: int | str, memories: Memories | None = None) -> list[Reason] | None:
        """What the user's last answer was given from memory, best first; None where there was no answer.

        `memories`: what an answer that is not kept was given.
        """
        return await (await self.engine()).storage.why(checked_user(user_id), memories)

    async def get_sessions(self, user_id: int | str) -> list[DialogSession]:
        """The user's sessions, oldest first."""
        return await (await self.engine()).storage.sessions(checked_user(user_id))

    async def record_answer(self, event: AnswerEvent) -> None:
        """Keeps what an answer cost and which memories it was given (K8)."""
        await (await self.engine()).record_answer(event)

    def account(self, user_id: int | str) -> Account:
        """What models are asked for a user is counted on it (keepsake.llm.account)."""
        user = checked_user(user_id)

        async def opened() -> UserAccount:
            return (await self.engine()).account(user)

        return LazyAccount(opened)

    def catch_up(self) -> None:
        """A model answers again: what was put off because it did not is due."""
        if self._engine is not None:
            self._engine.catch_up()

    async def language(self, user_id: int | str) -> str | None:
        """The language the user has chosen, None where none was."""
        return await (await self.engine()).storage.language(checked_user(user_id))

    async def set_language(self, user_id: int | str, language: str) -> None:
        await (await self.engine()).storage.set_language(checked_user(user_id), language)

    async def owner(self) -> int | None:
        """Who claimed the bot with the one-time code."""
        return await (await self.engine()).storage.owner()

    async def set_owner(self, user_id: int | str) -> None:
        await (await self.engine()).storage.set_owner(checked_user(user_id))

    async def flush(self) -> None:
        """Waits for all background work: indexing, extraction, summaries."""
        await (await self.engine()).flush()

    async def close(self) -> None:
        """Ends the background work (it goes on at the next start) and lets go of the folder. Idempotent."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._leave_old_loop(loop)
        async with self._opening:  # who calls meanwhile opens anew, when all is let go of
            await self._close()

    async def _close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()
        if self._chroma is not None:
            await self._chroma.close()
        if self._embedder is not None:
            await self._embedder.close()
        if self._reranker is not None:
            await self._reranker.close()
        if self._model is not None:
            await self._model.close()
        self._chroma = self._embedder = self._reranker = self._model = None
        self._release()

    async def __aenter__(self) -> Self:
        await self.engine()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class HybridMemoryManager(MemoryManager):
    """The same with the vector index: recall by meaning and by keyword."""

    with_index = True
