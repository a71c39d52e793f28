"""The second door: memory with the vector index, and coroutines over one lazily opened manager.

    import vector_memory
    await vector_memory.save_message(7, "user", "I live in Angarsk")
    found = await vector_memory.search_memory(7, "which town is mine?")
    await vector_memory.close()

The settings are read when the manager opens: at the first call, and at the first after `close`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot_models.user_state import StateManager, UserState
from keepsake.index.vector_storage import VectorMemoryStorage
from keepsake.manager import HybridMemoryManager
from keepsake.models import Message

__all__ = [
    "HybridMemoryManager",
    "VectorMemoryStorage",
    "close",
    "flush",
    "get_context",
    "get_memory_stats",
    "load_history_to_state",
    "save_message",
    "search_memory",
]

_manager = HybridMemoryManager()


async def save_message(
    user_id: int | str,
    role: str,
    content: str,
    *,
    created_at: datetime | None = None,
    sender: str | None = None,
    sender_id: int | str | None = None,
) -> Message:
    """Stores a message; when this returns it is durable and can be found by keyword. Raises ValueError."""
    return await _manager.save_message(
        user_id, role, content, created_at=created_at, sender=sender, sender_id=sender_id
    )


async def load_history_to_state(user_id: int | str, state: UserState, state_manager: StateManager) -> int:
    """Fills a user's state with the last messages, once after a start. Returns how many were restored."""
    return await _manager.load_history_to_state(user_id, state, state_manager)


async def get_context(
    user_id: int | str,
    query: str,
    stm_size: int = 5,
    ltm_size: int = 15,
    *,
    before: int | None = None,
    now: datetime | None = None,
) -> str:
    """The context block for a question. `before`: without that message and all after it."""
    return await _manager.get_context(user_id, query, stm_size, ltm_size, before=before, now=now)


async def search_memory(
    user_id: int | str,
    query: str,
    limit: int = 5,
    *,
    history: Sequence[str] = (),
    now: datetime | None = None,
) -> list[tuple[Message, float]]:
    """Messages about `query` with scores of 0–1, best first. `history`: the turns before it, oldest first."""
    return await _manager.search_memory(user_id, query, limit, history=history, now=now)


async def get_memory_stats(user_id: int | str) -> dict[str, object]:
    """Counts of what is held for a user: sessions, messages, facts, vectors."""
    return await _manager.get_memory_stats(user_id)


async def flush() -> None:
    """Waits for all background work: indexing, extraction, summaries."""
    await _manager.flush()


async def close() -> None:
    """Lets go of everything; the next call opens anew and reads the settings again."""
    await _manager.close()
