"""The composition root of the talking programs: memory, model and front end, put together and taken apart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keepsake.assistant import Assistant, build_assistant
from keepsake.cli.out import DONE
from keepsake.errors import SettingError
from keepsake.llm.factory import open_extraction_model, open_model
from keepsake.manager import HybridMemoryManager
from keepsake.settings import Settings

FIRST_USER = 1  # whom the terminal talks with, where nobody is named


@asynccontextmanager
async def assistant(settings: Settings) -> AsyncIterator[tuple[Assistant, HybridMemoryManager]]:
    """The assistant and the opened memory that it is over. Raises FolderHeld, DatabaseError, SettingError."""
    model = open_model(settings)
    extraction_model = open_extraction_model(settings, model)
    try:
        async with HybridMemoryManager(settings, model=extraction_model) as memory:
            if model is not None:
                await (await memory.engine()).models.load()
            app = await build_assistant(settings, memory, model)
            memory.when_forgotten(app.states.forget)
            memory.when_forgotten(app.searches.forget)
            memory.when_forgotten(app.awaited.forget)
            memory.when_forgotten(app.access.forget)
            if model is not None:
                model.breaker.when_back(memory.catch_up)
            yield app, memory
    finally:
        if model is not None:
            await model.close()


async def chat(settings: Settings, user_id: int) -> int:
    """Talks over standard input and output."""
    from keepsake.terminal import run_terminal

    async with assistant(settings) as (app, _):
        await run_terminal(app, user_id)
    return DONE


async def telegram(settings: Settings) -> int:
    """Talks to Telegram until it is told to stop. Raises SettingError where there is no token."""
    if settings.telegram_bot_token is None:
        raise SettingError("TELEGRAM_BOT_TOKEN is not set: get a token from @BotFather, or try `bot.py chat`")
    from keepsake.telegram import run_telegram

    async with assistant(settings) as (app, memory):
        await run_telegram(app, (await memory.engine()).storage.database)
    return DONE


async def run(settings: Settings) -> int:
    """What `make run` starts: Telegram where there is a token, else the terminal chat."""
    if settings.telegram_bot_token is None:
        return await chat(settings, FIRST_USER)
    return await telegram(settings)
