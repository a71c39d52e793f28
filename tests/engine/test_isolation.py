"""No user ever sees another's words, and nobody's ranking moves when another writes (R8, K5)."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from keepsake.manager import HybridMemoryManager
from keepsake.models import Message
from keepsake.settings import load_settings
from tests.engine.tools import Counting

USERS = (1, 2, -3)
users = st.sampled_from(USERS)
vocabulary = ["tea", "кот", "猫", "cà phê", "road", "42", "OR", '"']
words = st.lists(st.sampled_from(vocabulary), min_size=1, max_size=6)
Results = list[tuple[Message, float]]


class Memories(RuleBasedStateMachine):
    """The shared memory of three users, beside one of each user alone: both must answer alike."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.shared = self._manager("shared")
        self.alone = {user: self._manager(f"alone{user}") for user in USERS}
        self.said: dict[int, list[str]] = {user: [] for user in USERS}

    def _manager(self, name: str) -> HybridMemoryManager:
        chosen = load_settings(data_dir=Path(self.folder.name) / name, rag_floor=0.0)
        return HybridMemoryManager(chosen, embedder=Counting("hash"))

    @rule(user=users, said=words)
    def say(self, user: int, said: list[str]) -> None:
        text = f"secret{user} {' '.join(said)}"
        self.said[user].append(text)
        for memory in (self.shared, self.alone[user]):
            self.loop.run_until_complete(memory.save_message(user, "user", text))

    @rule(user=users, asked=words)
    def search(self, user: int, asked: list[str]) -> None:
        results: list[Results] = []
        for memory in (self.shared, self.alone[user]):
            self.loop.run_until_complete(memory.flush())
            question = f"{' '.join(asked)} secret1 secret2 secret-3"
            results.append(self.loop.run_until_complete(memory.search_memory(user, question, 50)))
        shared, alone = ([(message.content, score) for message, score in found] for found in results)
        assert all(content in self.said[user] for content, _ in shared)
        assert shared == alone

    @rule(user=users)
    def look(self, user: int) -> None:
        block = self.loop.run_until_complete(self.shared.get_context(user, "secret"))
        assert not any(f"secret{other} " in block for other in USERS if other != user)
        stats = self.loop.run_until_complete(self.shared.get_memory_stats(user))
        assert stats["total_messages"] == len(self.said[user])

    def teardown(self) -> None:
        for memory in (self.shared, *self.alone.values()):
            self.loop.run_until_complete(memory.close())
        self.loop.close()
        self.folder.cleanup()


TestIsolation = Memories.TestCase
TestIsolation.settings = settings(
    max_examples=6, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
