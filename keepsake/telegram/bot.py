"""The bot's life: connect, listen, stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from telegram import BotCommand
from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from handlers import COMMANDS
from keepsake.assistant import Assistant
from keepsake.clock import Clock, system_clock
from keepsake.errors import SettingError
from keepsake.locales import translate
from keepsake.settings import LANGUAGES, Settings
from keepsake.store.database import Database
from keepsake.telegram.front import Front
from keepsake.telegram.polling import RawBot, insist, poll
from keepsake.telegram.webhook import listen

log = logging.getLogger(__name__)

# How long answers in work may take after the bot was told to stop; service managers kill after 30–90 s.
_GRACE_SECONDS = 20.0
# To the Bot API. Telegram takes 30 messages a second, and every request looks through all connections for a free one.
_CONNECTIONS = 24
_POOL_SECONDS = 600.0  # a request waits for a connection however long: one that was not made is not lost


async def run_telegram(
    app: Assistant, database: Database, *, clock: Clock = system_clock, stop: asyncio.Event | None = None
) -> None:
    """Talks to Telegram until SIGTERM or SIGINT, or until `stop` is set where one is given.

    By webhook where TELEGRAM_WEBHOOK_URL is set, else by polling. Waits for Telegram where it is down. Answers in
    work when it is told to stop are finished, for 20 seconds at most; all else waits in the inbox for the next start.
    Raises SettingError for a token that is missing, rejected, or in use by another program.
    """
    # The library warns at every flood limit unless it may give durations as timedeltas, as it will anyway.
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    bot = open_bot(app.settings)
    async with _stopping(stop) as (stopped, hurry):
        try:
            await insist(bot.initialize, stopped)
            if not stopped.is_set():
                front = Front(app, bot, database, clock)
                try:
                    await _talk(app, bot, front, stopped)
                except SettingError:
                    hurry.set()  # nothing can be sent any more
                    raise
                finally:
                    await front.stop(_GRACE_SECONDS, hurry)
        finally:
            await bot.shutdown()
            await bot.request.shutdown()  # it is open also where connecting failed
            await app.tasks.wait()


def open_bot(settings: Settings) -> RawBot:
    """The library's bot, not connected yet. Raises SettingError where there is no token."""
    if settings.telegram_bot_token is None:
        raise SettingError("TELEGRAM_BOT_TOKEN is not set: get a token from @BotFather")
    url = settings.telegram_api_url.rstrip("/")
    return RawBot(
        settings.telegram_bot_token.get_secret_value(),
        base_url=f"{url}/bot",
        base_file_url=f"{url}/file/bot",
        request=HTTPXRequest(connection_pool_size=_CONNECTIONS, pool_timeout=_POOL_SECONDS),
    )


async def _talk(app: Assistant, bot: RawBot, front: Front, stopped: asyncio.Event) -> None:
    language = app.settings.default_language
    await _set_menu(bot, language)
    app.access.offer_code(lambda code: _tell(translate(language, "operator-code", code=code)))
    await front.resume()
    running = translate(language, "operator-running", name=bot.username)
    if app.settings.telegram_webhook_url is not None:
        await listen(bot, app.settings, front, stopped, begun=lambda: _tell(running))
    else:
        await insist(bot.delete_webhook, stopped)
        _tell(running)
        await poll(bot, front.take, stopped)
    _tell(translate(language, "operator-stopping"))


async def _set_menu(bot: RawBot, default: str) -> None:
    """The commands as Telegram's menu shows them, in every language of ours and for everybody else."""
    try:
        for code, language in [(None, default), *((code, code) for code in LANGUAGES)]:
            menu = [BotCommand(name, translate(language, f"command-{name}")) for name in COMMANDS]
            await bot.set_my_commands(menu, language_code=code)
    except TelegramError as error:
        log.warning("the menu of commands was not set: %s", type(error).__name__)


@asynccontextmanager
async def _stopping(stop: asyncio.Event | None) -> AsyncIterator[tuple[asyncio.Event, asyncio.Event]]:
    """An event that SIGTERM and SIGINT set, or the one that is given, and one that a second signal sets."""
    hurry = asyncio.Event()
    if stop is not None:
        yield stop, hurry
        return
    event, loop = asyncio.Event(), asyncio.get_running_loop()

    def signalled() -> None:
        (hurry if event.is_set() else event).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    try:
        yield event, hurry
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _tell(line: str) -> None:
    """Says something to whoever started the bot."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
