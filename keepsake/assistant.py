"""What handlers are given: the parts of the assistant, and a chat to talk into.

Handlers know an `Assistant`, a `Chat` and text, nothing of Telegram or terminals; each front end brings
its own `Chat`. The protocols here say what the talking side needs of memory and of the model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from bot_models.awaited import Awaited
from bot_models.searches import Searches
from bot_models.user_state import StateManager, UserState
from keepsake.access import Access
from keepsake.clock import Clock, system_clock
from keepsake.errors import ContextTooLong
from keepsake.facts.keeper import Refusal
from keepsake.forgetting.removal import Removal, Replied
from keepsake.forgetting.service import Pause
from keepsake.llm.account import Account
from keepsake.llm.client import Remake, Turn
from keepsake.models import AnswerEvent, Fact, FactChange, Memories, Message, Reason
from keepsake.privacy import Privacy
from keepsake.prompt.request import Budget
from keepsake.settings import Settings
from keepsake.store.storage import Also
from keepsake.turns import Turns

log = logging.getLogger(__name__)


class AnswerStopped(Exception):
    """The person does not want the rest of the answer."""


class Recalled(Protocol):
    """The context block and the memories that stand in it, with scores.

    `message`: the question as it fits beside the block; `sections`: tokens by part of the request, of `budget`.
    """

    @property
    def block(self) -> str: ...

    @property
    def memories(self) -> Memories: ...

    @property
    def message(self) -> str: ...

    @property
    def sections(self) -> tuple[tuple[str, int], ...]: ...

    @property
    def budget(self) -> Budget: ...


class Memory(Protocol):
    """What handlers need of the engine; HybridMemoryManager and MemoryManager have it."""

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
    ) -> Message: ...

    async def save_answer(
        self,
        question: Message,
        content: str,
        *,
        created_at: datetime | None = None,
        key: str | None = None,
        also: Also | None = None,
    ) -> Message | None: ...

    async def edit_message(self, user_id: int | str, key: str, content: str) -> Message | None: ...

    async def load_history_to_state(
        self, user_id: int | str, state: UserState, state_manager: StateManager
    ) -> int: ...

    async def recall(
        self,
        user_id: int | str,
        query: str,
        *,
        before: int | None,
        model: str | None = None,
        said: Sequence[Message] = (),
        remembered: bool = True,
    ) -> Recalled: ...

    async def privacy(self) -> Privacy: ...

    async def too_long(self, refusal: ContextTooLong, requested: int) -> None: ...

    async def find(
        self, user_id: int | str, query: str, limit: int = 5, *, before: int | None = None
    ) -> list[tuple[Message, float]]: ...

    async def get_messages(self, user_id: int | str, ids: Sequence[int]) -> list[Message]: ...

    async def get_memory_stats(self, user_id: int | str) -> dict[str, Any]: ...

    async def get_totals(self) -> dict[str, int]: ...

    async def get_facts(self, user_id: int | str, *, all_statuses: bool = False) -> list[Fact]: ...

    async def get_fact_history(self, user_id: int | str) -> list[FactChange]: ...

    async def remember(self, user_id: int | str, text: str) -> Fact | None: ...

    async def correct(self, user_id: int | str, fact_id: int, text: str) -> Fact | Refusal: ...

    async def removal(self) -> Removal: ...

    async def why(self, user_id: int | str, memories: Memories | None = None) -> list[Reason] | None: ...

    async def record_answer(self, event: AnswerEvent) -> None: ...

    def account(self, user_id: int | str) -> Account: ...

    async def language(self, user_id: int | str) -> str | None: ...

    async def set_language(self, user_id: int | str, language: str) -> None: ...

    async def owner(self) -> int | None: ...

    async def set_owner(self, user_id: int | str) -> None: ...

    def while_erasing(self, pause: Pause) -> None: ...

    async def begin_erasure(
        self, user_id: int | str, told: dict[str, object] | None = None
    ) -> int | None: ...

    async def erased(self, erasure: int) -> dict[str, object]: ...

    async def flush(self) -> None: ...


class TokenUsage(Protocol):
    """Tokens as the endpoint counted them, None where it does not say."""

    @property
    def prompt_tokens(self) -> int | None: ...

    @property
    def completion_tokens(self) -> int | None: ...


class AnswerStream(Protocol):
    """Pieces of an answer as they come; `text` is what has come so far, `usage` is filled at the end.

    `model` is the name of the model that was asked last, "" before any was.
    """

    @property
    def text(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def usage(self) -> TokenUsage: ...

    def __aiter__(self) -> AsyncIterator[str]: ...


class Model(Protocol):
    """A chat model. Iterating over an answer raises ModelError; `weak` is true for the small embedded one."""

    @property
    def name(self) -> str: ...

    @property
    def weak(self) -> bool: ...

    def stream(self, turns: Sequence[Turn], *, remake: Remake | None = None) -> AnswerStream: ...


@dataclass(frozen=True, slots=True)
class Button:
    """Something to press. `data`, at most 64 bytes as in Telegram, begins with its handler's name.

    `beside`: it stands in one row with the button before it, where the front end has rows.
    """

    label: str
    data: str
    beside: bool = False


@dataclass(slots=True)
class Said:
    """How the message that is handled came.

    `sender` and `sender_id`: who said it, None where it is the user themselves; `at`: when, None for now; `key`: what
    names it where it may be handled again after a kill; `stopped`: it has stopped an answer, being a /cancel in time;
    `replied`: the message that it replies to.
    """

    sender: str | None = None
    sender_id: str | None = None
    at: datetime | None = None
    key: str | None = None
    stopped: bool = False
    replied: Replied | None = None


class Chat(Protocol):
    """One person's conversation, whatever carries it. `language` is set before a handler runs."""

    user_id: int
    language: str
    said: Said

    @property
    def place(self) -> str:
        """What names this chat among those of its person."""

    @property
    def receipt_to(self) -> dict[str, object] | None:
        """Where the front end sends the receipt when nothing else of the person is left; None: it is waited for."""

    @property
    def kind(self) -> Literal["telegram", "terminal"]: ...

    async def send(
        self,
        text: str,
        buttons: Sequence[Button] = (),
        *,
        bold: Sequence[tuple[int, int]] = (),
        in_place: bool = False,
    ) -> None:
        """Shows plain text, whole, whatever its length.

        `bold`: characters, from and to, that stand out where the front end can. `in_place`: after a press, in the
        place of the message that was pressed, where the front end can.
        """

    async def note(self, text: str) -> None:
        """Says something beside the conversation."""

    async def stream(self, pieces: AsyncIterator[str]) -> None:
        """Shows the model's Markdown as it comes. Raises what `pieces` raises, and AnswerStopped.

        What has come by then is shown too, at the latest by `deliver`.
        """

    def posting(self, text: str, buttons: Sequence[Button] = ()) -> Also | None:
        """What hands the whole answer over to be sent, in the transaction that keeps it; None where it is shown.

        `buttons` stand below it. Called on a thread of its own.
        """

    async def deliver(self) -> None:
        """Sends what `posting` handed over."""

    async def answer(self, text: str) -> None:
        """Sends the whole of a streamed answer that is not kept anywhere, where it was not shown as it came."""

    def typing(self) -> AbstractAsyncContextManager[None]:
        """Shows that an answer is being made, for as long as the context lasts."""


class Tasks:
    """Background tasks: started here and nowhere else, their errors logged, waited for at the end."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Runs `work` in the background."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._done)

    async def wait(self) -> None:
        """Returns when nothing runs any more."""
        while self._running:
            await asyncio.wait(self._running)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background task %s failed: %s", task.get_name(), type(error).__name__)


@dataclass(slots=True)
class Assistant:
    """The parts, put together. `model` is None where none is set up."""

    settings: Settings
    memory: Memory
    model: Model | None
    states: StateManager
    access: Access
    searches: Searches = field(default_factory=Searches)
    awaited: Awaited = field(default_factory=Awaited)
    privacy: Privacy = field(default_factory=Privacy)
    tasks: Tasks = field(default_factory=Tasks)
    turns: Turns = field(default_factory=Turns)
    clock: Clock = system_clock

    async def finish(self) -> None:
        """Waits for background work of the talking side and of memory."""
        await self.tasks.wait()
        await self.memory.flush()


async def build_assistant(settings: Settings, memory: Memory, model: Model | None) -> Assistant:
    """An assistant over an opened memory; the owner is read from it."""
    app = Assistant(
        settings=settings,
        memory=memory,
        model=model,
        states=StateManager(settings.users_in_ram, settings.max_messages),
        access=Access(settings, await memory.owner()),
        privacy=await memory.privacy(),
    )
    memory.while_erasing(app.turns.paused)
    return app
