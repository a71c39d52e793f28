"""Whose words are being handled: an erasure cuts that person's work short and lets none begin until it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


class Turns:
    """What is handled now, by person. Everybody else is served while one person's turns are paused."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[None], int] = {}
        self._void: set[asyncio.Task[None]] = set()
        self._paused: dict[int, asyncio.Event] = {}

    async def take(self, person: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Does a person's work, once nothing pauses them. Returns early where a pause has cut it short."""
        while (over := self._paused.get(person)) is not None:
            await over.wait()
        task = asyncio.create_task(work(), name="turn")
        self._running[task] = person
        try:
            await task  # who cancels this cancels the task, and waits for it
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if task not in self._void or (caller is not None and caller.cancelling()):
                raise
        finally:
            self._running.pop(task, None)
            self._void.discard(task)

    def leave(self) -> None:
        """The calling work asks for a pause itself: it is not cut short by it."""
        task = asyncio.current_task()
        if task is not None:
            self._running.pop(task, None)

    @asynccontextmanager
    async def paused(self, person: int) -> AsyncIterator[None]:
        """While this lasts, nothing of that person is handled. What was being handled has ended when it begins."""
        over = self._paused[person] = asyncio.Event()
        try:
            cut = [task for task, whose in self._running.items() if whose == person]
            self._void.update(cut)
            for task in cut:
                task.cancel()
            await asyncio.gather(*cut, return_exceptions=True)
            yield
        finally:
            del self._paused[person]
            over.set()
