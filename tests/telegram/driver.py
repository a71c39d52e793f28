"""The Telegram bot as a process of its own, over a memory in RAM, with the settings of the environment."""

from __future__ import annotations

import asyncio

from bot_models.user_state import StateManager
from keepsake.access import Access
from keepsake.assistant import Assistant
from keepsake.logs import setup_logging
from keepsake.settings import load_settings
from keepsake.telegram import run_telegram
from tests.handlers.fakes import FakeMemory, FakeModel


async def main() -> None:
    settings = load_settings()
    setup_logging(settings)
    app = Assistant(settings, FakeMemory(), FakeModel(), StateManager(), Access(settings))
    await run_telegram(app)


if __name__ == "__main__":
    asyncio.run(main())
