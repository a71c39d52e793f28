"""A Telegram and a memory for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from keepsake.manager import MemoryManager
from keepsake.settings import Settings
from tests.telegram_server import TelegramServer


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[TelegramServer]:
    """With Telegram's limits where the test is marked `limits`; else nobody waits a second for each message."""
    limits = request.node.get_closest_marker("limits") is not None
    if not limits:
        monkeypatch.setattr("keepsake.telegram.limits.CHAT_SECONDS", 0.02)
    with TelegramServer(limits=limits) as running:
        yield running


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[MemoryManager]:
    async with MemoryManager(settings) as opened:
        yield opened
