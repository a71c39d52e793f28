"""A Telegram and a memory for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from keepsake.manager import MemoryManager
from keepsake.settings import Settings
from tests.telegram_server import TelegramServer


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer() as running:
        yield running


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[MemoryManager]:
    async with MemoryManager(settings) as opened:
        yield opened
