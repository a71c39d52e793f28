"""Updates of one chat one after the other, those of different chats side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

from telegram import Update
from telegram.ext import BaseUpdateProcessor

# The base class counts waiting updates too, so its limit must not be what a single busy chat can use up.
_WAITING_AT_MOST = 1_000_000
CHATS_AT_ONCE = 64


class Lanes(BaseUpdateProcessor):
    """A FIFO lane per chat; at most `CHATS_AT_ONCE` of them work at a time."""

    __slots__ = ("_at_once", "_lanes", "_running", "_waiting")

    def __init__(self) -> None:
        super().__init__(_WAITING_AT_MOST)
        self._lanes: dict[int | None, asyncio.Lock] = {}
        self._waiting: dict[int | None, int] = {}
        self._at_once = asyncio.Semaphore(CHATS_AT_ONCE)
        self._running: set[asyncio.Task[Any]] = set()

    async def initialize(self) -> None:
        """There is nothing to open."""

    async def shutdown(self) -> None:
        """There is nothing to close."""

    async def do_process_update(self, update: object, coroutine: Awaitable[Any]) -> None:
        """Runs `coroutine` when all earlier updates of its chat are done."""
        chat = update.effective_chat if isinstance(update, Update) else None
        key = chat.id if chat else None
        lane = self._lanes.setdefault(key, asyncio.Lock())
        self._waiting[key] = self._waiting.get(key, 0) + 1
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            async with lane, self._at_once:
                await coroutine
        finally:
            self._running.discard(task)
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._lanes[key]
            if isinstance(coroutine, Coroutine):
                coroutine.close()  # one that was cancelled while it waited has never begun

    def cancel(self) -> int:
        """Cancels all that runs and waits; returns how many that were."""
        for task in self._running:
            task.cancel()
        return len(self._running)
