"""A memory with messages of long ago, for the tests of the archive."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keepsake.manager import MemoryManager
from keepsake.settings import load_settings

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OLD, NEW = NOW - timedelta(days=60), NOW - timedelta(hours=1)
ANN, BOB = 11, 12


def clock() -> datetime:
    return NOW


def manager(**settings: Any) -> MemoryManager:
    """A memory that archives what is older than 30 days, but for the newest two messages; no model is there."""
    chosen = {"retention_days": 30, "max_messages": 2, "stm_size": 1, "ltm_size": 1, **settings}
    return MemoryManager(load_settings(**chosen), clock=clock)


async def tell(memory: MemoryManager, user: int, texts: Sequence[str], *, said: datetime = OLD) -> list[int]:
    """Saves messages a minute apart, each with a key; their ids."""
    ids = []
    for number, text in enumerate(texts):
        moment = said + timedelta(minutes=number)
        message = await memory.save_message(user, "user", text, created_at=moment, key=f"{moment:%d %H:%M}")
        ids.append(message.id)
    return ids


async def filled(**settings: Any) -> list[str]:
    """Ann and Bob have said something long ago and something new; then what is old leaves. Ann's old messages."""
    old = [f"heron-{number}-violet sleeps in my garden" for number in range(5)]
    async with manager(retention_days=0) as memory:
        await tell(memory, ANN, old)
        await tell(memory, BOB, ["Bob's parrot-77-green talks at night"])
        for user in (ANN, BOB):
            await tell(memory, user, ["good morning to you", "and how are you today"], said=NEW)
    async with manager(**settings) as memory:
        await memory.flush()
    return old


async def found(memory: MemoryManager, user: int, query: str) -> list[str]:
    return [message.content for message, _ in await memory.search_archive(user, query, 20)]


def rows(data_dir: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(data_dir / "memory.db")) as connection:
        return connection.execute(query).fetchall()


def files(data_dir: Path) -> list[Path]:
    return sorted(path for path in (data_dir / "archive").glob("*"))


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
