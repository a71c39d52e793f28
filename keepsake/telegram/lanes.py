"""Updates of one chat one after the other, those of different chats side by side."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from keepsake.errors import DatabaseError
from keepsake.store.inbox import Undone
from keepsake.turns import Turns

log = logging.getLogger(__name__)

CHATS_AT_ONCE = 1000
RETRY_SECONDS = 2.0
RETRY_MOST_SECONDS = 60.0

Key = tuple[int | None, int | None]  # chat and topic


class Lanes:
    """A FIFO lane per chat and topic; at most `at_once` of them work at a time.

    A lane holds numbers only: an update is read from the inbox when its turn comes. `turns`: who else may pause the
    work of a chat.
    """

    def __init__(
        self,
        work: Callable[[int], Coroutine[Any, Any, None]],
        at_once: int = CHATS_AT_ONCE,
        turns: Turns | None = None,
    ) -> None:
        self._work = work
        self._turns = turns or Turns()
        self._waiting: dict[Key, deque[int]] = {}
        self._workers: dict[Key, asyncio.Task[None]] = {}
        self._at_once = asyncio.Semaphore(at_once)
        self._stopping = False

    def add(self, update: Undone) -> None:
        """Puts an update behind those of its chat."""
        key = lane_of(update)
        self._waiting.setdefault(key, deque()).append(update.update_id)
        if key not in self._workers:
            self._workers[key] = asyncio.create_task(self._serve(key), name=f"lane {key[0]}")

    @property
    def waiting(self) -> int:
        """How many updates wait or are worked on."""
        return sum(len(lane) for lane in self._waiting.values())

    def first(self, key: Key) -> int | None:
        """The update that is worked on, or is next, in a lane."""
        lane = self._waiting.get(key)
        return lane[0] if lane else None

    async def stop(self, grace_seconds: float, hurry: asyncio.Event | None = None) -> int:
        """Begins nothing new, and lets end what is worked on, for so long or until `hurry` is set.

        Returns how many were cut short.
        """
        self._stopping = True
        workers = list(self._workers.values())
        if not workers:
            return 0
        ending = asyncio.create_task(_all_end(workers))
        hurried = asyncio.create_task(_happens(hurry))
        await asyncio.wait({ending, hurried}, timeout=grace_seconds, return_when=asyncio.FIRST_COMPLETED)
        late = [worker for worker in workers if not worker.done()]
        for task in (hurried, *late):
            task.cancel()
        await asyncio.gather(ending, hurried, return_exceptions=True)
        return len(late)

    async def _serve(self, key: Key) -> None:
        lane = self._waiting[key]
        pause = RETRY_SECONDS
        try:
            while lane and not self._stopping:
                async with self._at_once:
                    served = self._stopping or await self._serve_one(key, lane[0])
                if served:
                    lane.popleft()
                    pause = RETRY_SECONDS
                else:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, RETRY_MOST_SECONDS)
        finally:
            del self._waiting[key], self._workers[key]

    async def _serve_one(self, key: Key, update_id: int) -> bool:
        """False: it is to be tried again, since memory.db could not be used."""
        try:
            # A private chat has its person's number; a group is nobody, and what belongs to no chat is short.
            await self._turns.take(key[0] or 0, partial(self._work, update_id))
        except DatabaseError as error:
            log.error("update %d waits: %s", update_id, error)
            return False
        except Exception as error:  # noqa: BLE001 - the outer edge: one update must not stop the lane
            kind = type(error).__name__
            log.error("update %d was not handled and waits for the next start: %s", update_id, kind)
        return True


async def _all_end(workers: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(workers)


async def _happens(event: asyncio.Event | None) -> None:
    await (event or asyncio.Event()).wait()


def lane_of(update: Undone) -> Key:
    return (update.chat_id, update.thread_id)
