"""Getting updates from the Bot API server, and trying again for as long as it is down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from telegram import Bot, Update
from telegram.error import InvalidToken, RetryAfter, TelegramError

from keepsake.errors import SettingError

log = logging.getLogger(__name__)
T = TypeVar("T")

_POLL_SECONDS = 30
_BACKOFF_SECONDS = 1.0
_BACKOFF_MOST_SECONDS = 30.0
_WANTED = (Update.MESSAGE, Update.CALLBACK_QUERY)


async def poll(bot: Bot, take: Callable[[Update], Awaitable[None]], stopped: asyncio.Event) -> None:
    """Hands every update to `take`, in order, until `stopped`; a batch is confirmed when all of it was taken.

    The library's own poller goes deaf on a token that is revoked meanwhile: this one raises SettingError.
    """
    offset: int | None = None
    while not stopped.is_set():
        updates = await insist(partial(_batch, bot, offset, _POLL_SECONDS), stopped)
        for update in updates or ():
            await take(update)
            offset = update.update_id + 1
    if offset is not None:
        try:
            await _batch(bot, offset, 0)
        except TelegramError as error:
            log.warning("the last updates were not confirmed and will come again: %s", type(error).__name__)


async def insist(call: Callable[[], Coroutine[Any, Any, T]], stopped: asyncio.Event) -> T | None:
    """What `call` returns, tried until Telegram answers; None where `stopped` came before that.

    Raises SettingError for a token that the server rejects.
    """
    wait = _BACKOFF_SECONDS
    while not stopped.is_set():
        try:
            return await _unless_stopped(call(), stopped)
        except InvalidToken:
            raise SettingError(
                "TELEGRAM_BOT_TOKEN was rejected by the Bot API server: copy it again from @BotFather"
            ) from None
        except TelegramError as error:
            pause = max(wait, seconds(error.retry_after)) if isinstance(error, RetryAfter) else wait
            log.warning("Telegram does not answer (%s), next try in %g s", type(error).__name__, pause)
        await _unless_stopped(asyncio.sleep(pause), stopped)
        wait = min(wait * 2, _BACKOFF_MOST_SECONDS)
    return None


def seconds(value: float | timedelta) -> float:
    """The library's durations: numbers today, timedeltas as it announces."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


async def _batch(bot: Bot, offset: int | None, timeout: int) -> tuple[Update, ...]:
    return await bot.get_updates(offset=offset, timeout=timeout, allowed_updates=_WANTED)


async def _unless_stopped(work: Coroutine[Any, Any, T], stopped: asyncio.Event) -> T | None:
    task, stop = asyncio.ensure_future(work), asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for future in (task, stop):
            future.cancel()
        await asyncio.gather(task, stop, return_exceptions=True)
