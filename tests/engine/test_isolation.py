"""No user ever sees another's words, and nobody's results move when another writes (R8, K5)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from bot_models.user_state import StateManager
from handlers import COMMANDS, press, receive
from keepsake.assistant import Assistant, build_assistant
from keepsake.manager import HybridMemoryManager
from keepsake.settings import load_settings
from tests.engine.tools import Counting
from tests.handlers.fakes import FakeModel, RecordingChat
from tests.model_server import MODEL, ModelServer

# Every text of a user holds their mark, and no one else's does.
MARKS = {1: "anemone", 2: "begonia", -3: "крокус"}
users = st.sampled_from(sorted(MARKS))
words = st.lists(
    st.sampled_from(["tea", "кот", "猫", "cà phê", "road", "42", "OR", '"', "I live in", "I like", "no,"]),
    min_size=1,
    max_size=6,
)
# Those that say or ask something; /delete_me is a rule of its own.
commands = st.sampled_from(sorted(set(COMMANDS) - {"delete_me", "language", "start"}))
ALL_MARKS = " ".join(MARKS.values())


@dataclass(frozen=True, slots=True)
class Home:
    """A memory with the assistant over it."""

    memory: HybridMemoryManager
    app: Assistant
    model: FakeModel


# What can be read of a user: by the doors, and by what stands behind the commands.
READS: dict[str, Callable[[HybridMemoryManager, int, str], Awaitable[Any]]] = {
    "search_memory": lambda memory, user, about: memory.search_memory(user, about, 50),
    "find": lambda memory, user, about: memory.find(user, about, 50),
    "get_context": lambda memory, user, about: memory.get_context(user, about),
    "recall": lambda memory, user, about: memory.recall(user, about),
    "get_facts": lambda memory, user, _: memory.get_facts(user, all_statuses=True),
    "get_fact_history": lambda memory, user, _: memory.get_fact_history(user),
    "get_sessions": lambda memory, user, _: memory.get_sessions(user),
    "get_memory_stats": lambda memory, user, _: memory.get_memory_stats(user),
    "why": lambda memory, user, _: memory.why(user),
    "language": lambda memory, user, _: memory.language(user),
    "get_messages": lambda memory, user, _: memory.get_messages(user, range(1, 60)),
    "load_history_to_state": lambda memory, user, _: _history(memory, user),
}
# These name rows by numbers over everybody, so only their words are looked at.
NUMBERED = {"recall", "get_facts", "get_fact_history", "get_sessions", "why", "get_messages"}


async def _history(memory: HybridMemoryManager, user: int) -> list[str]:
    states = StateManager()
    state = states.get_state(user)
    await memory.load_history_to_state(user, state, states)
    return list(state.ai_chat_history)


class Memories(RuleBasedStateMachine):
    """The shared memory of three users, beside one of each user alone: both must answer alike."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.server = ModelServer().start()
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.shared = self._home("shared")
        self.alone = {user: self._home(f"alone{user}") for user in MARKS}

    def _home(self, name: str) -> Home:
        chosen = load_settings(
            data_dir=Path(self.folder.name) / name,
            rag_floor=0.0,
            openai_base_url=self.server.url,
            openai_model=MODEL,
            fact_extraction_every=2,
            allowed_user_ids="*",
        )
        memory = HybridMemoryManager(chosen, embedder=Counting("hash"), clock=lambda: self.now)
        model = FakeModel()
        return Home(memory, self._run(build_assistant(chosen, memory, model)), model)

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def _both(self, user: int, step: Callable[[Home], Awaitable[Any]]) -> tuple[Any, Any]:
        """What a step gives in the shared memory and in the user's own, a minute later, all work done before."""
        self.now += timedelta(minutes=1)
        found = []
        for home in (self.shared, self.alone[user]):
            self._run(home.app.finish())
            found.append(self._run(step(home)))
            self._run(home.app.finish())
        self._holds_no_others(user, found[0])
        return found[0], found[1]

    def _holds_no_others(self, user: int, shown: object) -> None:
        text = repr(shown)
        assert [mark for other, mark in MARKS.items() if other != user and mark in text] == []

    def _text(self, user: int, said: list[str]) -> str:
        return " ".join(f"{word} {MARKS[user]}" for word in said)

    @rule(user=users, said=words, role=st.sampled_from(["user", "user", "assistant"]), sender=st.booleans())
    def save(self, user: int, said: list[str], role: str, sender: bool) -> None:
        text, key = self._text(user, said), f"key {self.now}"
        name = f"Ann {MARKS[user]}" if sender and role == "user" else None
        self._both(user, lambda home: home.memory.save_message(user, role, text, sender=name, key=key))

    @rule(user=users, said=words)
    def edit(self, user: int, said: list[str]) -> None:
        text, key = self._text(user, said), f"key {self.now - timedelta(minutes=3)}"
        self._both(user, lambda home: home.memory.edit_message(user, key, text))

    @rule(user=users, said=words)
    def remember(self, user: int, said: list[str]) -> None:
        self._both(user, lambda home: home.memory.remember(user, self._text(user, said)))

    @rule(user=users, asked=words, read=st.sampled_from(sorted(READS)))
    def read(self, user: int, asked: list[str], read: str) -> None:
        # The marks of others are asked for, and must not be found; what echoes the question is not looked at.
        about = " ".join(asked) if read == "recall" else f"{' '.join(asked)} {ALL_MARKS}"
        shared, alone = self._both(user, lambda home: READS[read](home.memory, user, about))
        if read == "search_memory":
            shared, alone = ([(one.content, score) for one, score in found] for found in (shared, alone))
        elif read == "find":
            shared, alone = ([one.content for one, _ in found] for found in (shared, alone))
        if read not in NUMBERED:
            assert shared == alone

    @rule(user=users, said=words)
    def talk(self, user: int, said: list[str]) -> None:
        self._say(user, self._text(user, said))
        for home in (self.shared, self.alone[user]):
            self._holds_no_others(user, home.model.requests[-1:])

    @rule(user=users, said=words, name=commands)
    def command(self, user: int, said: list[str], name: str) -> None:
        self._say(user, f"/{name} {self._text(user, said)}")

    def _say(self, user: int, text: str) -> None:
        async def step(home: Home) -> list[str]:
            chat = RecordingChat(user)
            await receive(home.app, chat, text)
            await home.app.tasks.wait()
            for button in chat.buttons[:2]:
                await press(home.app, chat, button.data)
            return chat.shown

        shared, alone = self._both(user, step)
        assert shared == alone

    @rule(user=users, other=users)
    def press_of_another(self, user: int, other: int) -> None:
        """A button that another one was shown gives nothing away."""

        async def step(home: Home) -> list[str]:
            theirs, chat = RecordingChat(other), RecordingChat(user)
            await receive(home.app, theirs, f"/search {MARKS[other]}")
            for button in theirs.buttons:
                await press(home.app, chat, button.data)
            return chat.shown

        if user != other:
            self._both(user, step)

    @rule(user=users)
    def delete_me(self, user: int) -> None:
        async def step(home: Home) -> None:
            home.app.states.forget(user)
            erasure = await home.memory.begin_erasure(user)
            if erasure is not None:
                assert (await home.memory.erased(erasure)).get("left", 0) == 0

        self._both(user, step)

    def teardown(self) -> None:
        for home in (self.shared, *self.alone.values()):
            self._run(home.app.finish())
            self._run(home.memory.close())
        self.server.stop()
        self.loop.close()
        self.folder.cleanup()


@pytest.mark.parametrize(
    ("examples", "steps", "same_each_time"),
    [(3, 15, True), pytest.param(60, 60, False, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])],
)
def test_no_user_sees_or_moves_another(examples: int, steps: int, same_each_time: bool) -> None:
    run_state_machine_as_test(
        Memories,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=same_each_time,
            suppress_health_check=list(HealthCheck),
        ),
    )
