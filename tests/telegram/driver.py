"""The Telegram bot as a process of its own, with a model that echoes and the settings of the environment."""

from __future__ import annotations

import asyncio

from keepsake.assistant import build_assistant
from keepsake.logs import setup_logging
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from keepsake.telegram import run_telegram
from tests.handlers.fakes import FakeModel


async def main() -> None:
    settings = load_settings()
    setup_logging(settings)
    async with MemoryManager(settings) as memory:
        app = await build_assistant(settings, memory, FakeModel())
        await run_telegram(app, (await memory.engine()).storage.database)


if __name__ == "__main__":
    asyncio.run(main())
