"""The bot in this process, over a real memory and a server as strict as Telegram."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from keepsake.assistant import Assistant, build_assistant
from keepsake.manager import MemoryManager
from keepsake.models import Message
from keepsake.settings import load_settings
from keepsake.store import messages
from keepsake.telegram import run_telegram
from tests.handlers.fakes import FakeAnswer, FakeModel
from tests.telegram_server import TelegramServer

T = TypeVar("T")
ANN, BOB = 11, 12


async def assistant(
    server: TelegramServer, memory: MemoryManager, model: FakeModel | None, **more: Any
) -> Assistant:
    chosen = {"allowed_user_ids": "*", "telegram_api_url": server.url, "telegram_bot_token": server.token}
    return await build_assistant(load_settings(**(chosen | more)), memory, model)


async def talk(app: Assistant, stop: asyncio.Event) -> None:
    assert isinstance(app.memory, MemoryManager)
    await run_telegram(app, (await app.memory.engine()).storage.database, stop=stop)


@asynccontextmanager
async def listening(app: Assistant) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    running = asyncio.create_task(talk(app, stop))
    try:
        yield stop
    finally:
        stop.set()
        await running


async def kept(memory: MemoryManager) -> list[Message]:
    """All messages that memory holds, of everybody."""

    def ids(connection: sqlite3.Connection) -> list[tuple[int, int]]:
        return connection.execute("SELECT user_id, id FROM messages ORDER BY id").fetchall()

    database = (await memory.engine()).storage.database
    return [
        (await database.read(messages.by_ids, user, [one]))[one] for user, one in await database.read(ids)
    ]


async def off_loop(call: Callable[..., T], *args: Any) -> T:
    return await asyncio.to_thread(call, *args)


class Gated(FakeModel):
    """Answers one question only when it is told to."""

    def __init__(self, held: str) -> None:
        super().__init__()
        self.held = held
        self.gate = asyncio.Event()
        self.reached = asyncio.Event()

    def stream(self, turns: Any, *, remake: Any = None) -> FakeAnswer:
        answer = super().stream(turns)
        return HeldAnswer(self, answer) if turns[-1].content == self.held else answer


class HeldAnswer(FakeAnswer):
    def __init__(self, model: Gated, answer: FakeAnswer) -> None:
        super().__init__(answer.pieces)
        self.gated = model

    async def __aiter__(self) -> AsyncIterator[str]:
        self.gated.reached.set()
        await self.gated.gate.wait()
        async for piece in super().__aiter__():
            yield piece
