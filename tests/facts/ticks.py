"""A second task on the event loop, that notes when it was kept waiting."""

from __future__ import annotations

import asyncio
import time


class Ticks:
    """Notes the longest time in seconds that the event loop was not free."""

    longest = 0.0

    async def __aenter__(self) -> Ticks:
        self._task = asyncio.create_task(self._run())
        await asyncio.sleep(0.01)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0.01)
        self._task.cancel()

    async def _run(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            self.longest, last = max(self.longest, time.perf_counter() - last), time.perf_counter()
