"""A memory in RAM, a model with queued answers, a chat that records: real classes that keep the contracts."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal

from bot_models.user_state import StateManager, UserState
from keepsake.access import Access
from keepsake.assistant import Assistant, Button, Said
from keepsake.errors import ContextTooLong
from keepsake.facts.keeper import Refusal
from keepsake.forgetting.removal import Removal
from keepsake.forgetting.service import Pause
from keepsake.llm.client import Remake, Turn
from keepsake.models import AnswerEvent, Fact, FactChange, ItemKind, Memories, Message, Reason, Spent
from keepsake.privacy import Privacy
from keepsake.prompt.request import Budget, fit_message
from keepsake.settings import load_settings
from keepsake.store.storage import Also

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class FakeRecalled:
    block: str
    memories: tuple[tuple[ItemKind, int, float], ...]
    message: str
    sections: tuple[tuple[str, int], ...] = (("system", 200), ("stm", 12), ("message", 5))
    budget: ClassVar[Budget] = Budget(4000)


class FakeAccount:
    """Has tokens without end: fake models charge nothing."""

    async def check(self) -> None:
        return None

    async def charge(self, spent: Spent) -> None:
        raise AssertionError("a fake model charges nothing")


class FakeMemory:
    """Keeps messages in a list. What is found shares a word with the question."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.known_facts: list[Fact] = []
        self.reasons: list[Reason] | None = None
        self.answers: list[AnswerEvent] = []
        self.languages: dict[int, str] = {}
        self.the_owner: int | None = None
        self.loads: list[int] = []
        self.flushed = 0
        self.pauses: list[Pause] = []
        self.erasures: list[tuple[int, dict[str, object] | None]] = []
        self.floor = 0.0
        self.tokens_estimated = 0
        self.daily_tokens = 0
        self.failure: Exception | None = None
        self.refusals: list[tuple[str, int | None, int]] = []

    async def save_message(
        self,
        user_id: int | str,
        role: str,
        content: str,
        *,
        created_at: datetime | None = None,
        sender: str | None = None,
        sender_id: str | None = None,
        key: str | None = None,
    ) -> Message:
        self._fail()
        assert role in ("user", "assistant")
        assert content.strip(), "an empty message is never saved"
        number = len(self.messages) + 1
        said = "user" if role == "user" else "assistant"
        message = Message(
            id=number,
            user_id=int(user_id),
            role=said,  # type: ignore[arg-type]
            content=content,
            created_at=created_at or START + timedelta(minutes=number),
            session_id=1,
            sender=sender,
            sender_id=sender_id,
        )
        self.messages.append(message)
        return message

    async def save_answer(
        self,
        question: Message,
        content: str,
        *,
        created_at: datetime | None = None,
        key: str | None = None,
        also: Also | None = None,
    ) -> Message | None:
        assert also is None, "there is no database here"
        return (
            await self.save_message(question.user_id, "assistant", content)
            if question in self.messages
            else None
        )

    async def edit_message(self, user_id: int | str, key: str, content: str) -> Message | None:
        raise NotImplementedError("the real memory is asked for this")

    async def load_history_to_state(
        self, user_id: int | str, state: UserState, state_manager: StateManager
    ) -> int:
        self.loads.append(int(user_id))
        mine = self._of(user_id)[-state.max_messages :]
        for message in mine:
            state.add(message.role, message.content)
        state.messages_since_fact_extract = sum(message.role == "user" for message in self._of(user_id))
        state_manager.mark_history_loaded(user_id)
        return len(mine)

    async def recall(
        self,
        user_id: int | str,
        query: str,
        *,
        before: int | None,
        model: str | None = None,
        said: Sequence[Message] = (),
        remembered: bool = True,
    ) -> FakeRecalled:
        self._fail()
        past = [message for message in self._of(user_id) if before is None or message.id < before]
        found = self._found(past, query)
        block = "\n".join(["BLOCK", *(message.content for message in past)]) if past else ""
        memories: tuple[tuple[ItemKind, int, float], ...] = tuple(
            ("message", m.id, score) for m, score in found
        )
        return FakeRecalled(block, memories, fit_message(FakeRecalled.budget, query))

    async def too_long(self, refusal: ContextTooLong, requested: int) -> None:
        self.refusals.append((refusal.model, refusal.limit, requested))

    async def find(
        self, user_id: int | str, query: str, limit: int = 5, *, before: int | None = None
    ) -> list[tuple[Message, float]]:
        held = [message for message in self._of(user_id) if before is None or message.id < before]
        return [found for found in self._found(held, query) if found[1] >= self.floor][:limit]

    async def get_messages(self, user_id: int | str, ids: Sequence[int]) -> list[Message]:
        held = {message.id: message for message in self._of(user_id)}
        return [held[one] for one in ids if one in held]

    async def get_memory_stats(self, user_id: int | str) -> dict[str, Any]:
        return {
            "total_sessions": 1,
            "total_messages": len(self._of(user_id)),
            "total_facts": len(self.known_facts),
            "hybrid_mode": True,
            "vector_documents": len(self._of(user_id)),
            "vector_model": "tiny",
            "tokens_today": 14,
            "tokens_this_month": 140,
            "tokens_estimated": self.tokens_estimated,
            "daily_tokens": self.daily_tokens,
        }

    async def get_totals(self) -> dict[str, int]:
        people = {message.user_id for message in self.messages}
        held = {"users": len(people), "messages": len(self.messages), "facts": len(self.known_facts)}
        return {**held, "tokens_today": 1400, "tokens_this_month": 14_000}

    def account(self, user_id: int | str) -> FakeAccount:
        return FakeAccount()

    async def get_facts(self, user_id: int | str, *, all_statuses: bool = False) -> list[Fact]:
        return self.known_facts

    async def get_fact_history(self, user_id: int | str) -> list[FactChange]:
        return []

    async def correct(self, user_id: int | str, fact_id: int, text: str) -> Fact | Refusal:
        raise NotImplementedError("the real memory is asked for this")

    async def remember(self, user_id: int | str, text: str) -> Fact | None:
        raise NotImplementedError("the real memory is asked for this")

    async def privacy(self) -> Privacy:
        return Privacy()

    async def removal(self) -> Removal:
        raise NotImplementedError("the real memory is asked for this")

    async def why(self, user_id: int | str, memories: Memories | None = None) -> list[Reason] | None:
        return self.reasons

    async def record_answer(self, event: AnswerEvent) -> None:
        self.answers.append(event)

    async def language(self, user_id: int | str) -> str | None:
        return self.languages.get(int(user_id))

    async def set_language(self, user_id: int | str, language: str) -> None:
        self.languages[int(user_id)] = language

    async def owner(self) -> int | None:
        return self.the_owner

    async def set_owner(self, user_id: int | str) -> None:
        self.the_owner = int(user_id)

    def while_erasing(self, pause: Pause) -> None:
        self.pauses.append(pause)

    async def begin_erasure(self, user_id: int | str, told: dict[str, object] | None = None) -> int | None:
        self._fail()
        self.erasures.append((int(user_id), told))
        self.messages = [message for message in self.messages if message.user_id != int(user_id)]
        return len(self.erasures)

    async def erased(self, erasure: int) -> dict[str, object]:
        return {"seq": erasure, "sha256": "ab12", "left": 0}

    async def flush(self) -> None:
        self.flushed += 1

    def _of(self, user_id: int | str) -> list[Message]:
        return [message for message in self.messages if message.user_id == int(user_id)]

    def _found(self, messages: list[Message], query: str) -> list[tuple[Message, float]]:
        words = set(query.lower().split())
        return [(m, 0.9) for m in messages if words & set(m.content.lower().split())]

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


@dataclass(frozen=True)
class FakeUsage:
    prompt_tokens: int | None = 11
    completion_tokens: int | None = 3


@dataclass
class FakeAnswer:
    pieces: Iterable[str | Exception]
    text: str = ""
    model: str = "fake-1"
    usage: FakeUsage = field(default_factory=FakeUsage)

    async def __aiter__(self) -> AsyncIterator[str]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            self.text += piece
            yield piece


class FakeModel:
    """Gives the queued answers, each a list of pieces and errors, and keeps the requests; then echoes."""

    def __init__(self, *answers: Iterable[str | Exception], weak: bool = False) -> None:
        self.name = "fake-1"
        self.weak = weak
        self.requests: list[Sequence[Turn]] = []
        self._answers = deque(answers)

    def stream(self, turns: Sequence[Turn], *, remake: Remake | None = None) -> FakeAnswer:
        self.requests.append(turns)
        return FakeAnswer(self._answers.popleft() if self._answers else ["echo: ", turns[-1].content])


class RecordingChat:
    """Keeps what it was told to show."""

    kind: Literal["telegram", "terminal"]
    place = "here"
    receipt_to: dict[str, object] | None = None

    def __init__(self, user_id: int = 7, kind: Literal["telegram", "terminal"] = "telegram") -> None:
        self.user_id = user_id
        self.kind = kind
        self.language = "en"
        self.said = Said()
        self.shown: list[str] = []
        self.notes: list[str] = []
        self.buttons: list[Button] = []
        self.bold: list[str] = []
        self.typed = 0

    async def send(
        self,
        text: str,
        buttons: Sequence[Button] = (),
        *,
        bold: Sequence[tuple[int, int]] = (),
        in_place: bool = False,
    ) -> None:
        self.shown.append(text)
        self.bold += [text[at:end] for at, end in bold]
        self.buttons.extend(buttons)

    async def note(self, text: str) -> None:
        self.notes.append(text)

    async def stream(self, pieces: AsyncIterator[str]) -> None:
        text = ""
        try:
            async for piece in pieces:
                text += piece
        finally:
            if text:
                self.shown.append(text)

    def posting(self, text: str, buttons: Sequence[Button] = ()) -> None:
        """It was shown as it came."""
        self.buttons.extend(buttons)

    async def deliver(self) -> None:
        """Nothing is left to send."""

    async def answer(self, text: str) -> None:
        """It was shown as it came."""

    @asynccontextmanager
    async def typing(self) -> AsyncIterator[None]:
        self.typed += 1
        yield


def an_assistant(memory: FakeMemory, model: FakeModel | None, **settings: Any) -> Assistant:
    """The real Assistant over fake parts. Settings come from the arguments alone."""
    chosen = load_settings(_env_file=None, **settings)
    return Assistant(
        settings=chosen,
        memory=memory,
        model=model,
        states=StateManager(max_messages=chosen.max_messages),
        access=Access(chosen, memory.the_owner),
    )
