"""Which updates a poll confirms."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from keepsake.telegram import polling


class Scripted:
    """Gives batches one after the other, then stops the poll; keeps what was confirmed."""

    def __init__(self, stopped: asyncio.Event, *batches: list[dict[str, Any]]) -> None:
        self.offsets: list[int | None] = []
        self._stopped = stopped
        self._batches = list(batches)

    async def raw_updates(self, offset: int | None, timeout: int) -> list[dict[str, Any]]:
        self.offsets.append(offset)
        if self._batches:
            return self._batches.pop(0)
        self._stopped.set()
        return []


async def test_a_number_that_cannot_be_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_BACKOFF_SECONDS", 0.01)
    stopped = asyncio.Event()
    odd: list[dict[str, Any]] = [{"update_id": 2**70}, {"update_id": "77"}]
    bot = Scripted(stopped, [{"update_id": 5}, *odd], odd, [{"update_id": 6}])
    taken: list[dict[str, Any]] = []

    async def take(updates: list[dict[str, Any]]) -> None:
        taken.extend(updates)

    await polling.poll(bot, take, stopped)  # type: ignore[arg-type]
    assert bot.offsets == [None, 6, 6, 7, 7]
    assert len(taken) == 6
