"""Getting updates from the Bot API server, and trying again for as long as it is down."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from telegram import Bot, Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from keepsake.errors import DatabaseError, SettingError
from keepsake.telegram.inbox import number_of

log = logging.getLogger(__name__)
T = TypeVar("T")

_POLL_SECONDS = 30
_BACKOFF_SECONDS = 1.0
_BACKOFF_MOST_SECONDS = 30.0
_READ_SECONDS = 10
_CONFLICT_SECONDS = 3.0
_CONFLICT_MEMORY_SECONDS = 60.0
WANTED = [Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY]

Json = dict[str, Any]


class RawBot(Bot):
    """A bot that gives updates as they came: one that the library cannot parse must not hide the others."""

    async def raw_updates(self, offset: int | None, timeout: int) -> list[Json]:
        """The updates from `offset` on, as soon as there is one, at the latest after `timeout` seconds."""
        data = {"offset": offset, "timeout": timeout, "allowed_updates": WANTED}
        return list(await self._post("getUpdates", data, read_timeout=timeout + _READ_SECONDS))


async def poll(bot: RawBot, take: Callable[[list[Json]], Awaitable[None]], stopped: asyncio.Event) -> None:
    """Hands all updates to `take`, in order, until `stopped`. They are confirmed when `take` has returned.

    Raises SettingError where the token is revoked meanwhile, or another program polls with it.
    """
    offset: int | None = None
    conflicts = _Conflicts()
    while not stopped.is_set():
        try:
            updates = await insist(partial(bot.raw_updates, offset, _POLL_SECONDS), stopped)
        except Conflict:
            conflicts.count()
            await _unless_stopped(asyncio.sleep(_CONFLICT_SECONDS), stopped)
            continue
        if updates:
            try:
                await take(updates)
            except DatabaseError as error:  # a full disk, say: what is not confirmed comes again
                log.error("updates cannot be taken: %s", error)
                await _unless_stopped(asyncio.sleep(_BACKOFF_MOST_SECONDS), stopped)
                continue
            numbers = [number for one in updates if (number := number_of(one)) is not None]
            if numbers:
                offset = max(numbers) + 1
            else:
                await _unless_stopped(asyncio.sleep(_BACKOFF_SECONDS), stopped)
    if offset is not None:
        try:
            await bot.raw_updates(offset, 0)
        except TelegramError as error:
            log.warning("the last updates were not confirmed and will come again: %s", type(error).__name__)


class _Conflicts:
    """Tells another program with the same token from one that was just ended.

    Telegram ends the older of two polls. When both try again, the one that was there first meets its second refusal
    first, and ends.
    """

    def __init__(self) -> None:
        self._last = float("-inf")

    def count(self) -> None:
        """One more. Raises SettingError for the second within a minute."""
        now = time.monotonic()
        if now - self._last < _CONFLICT_MEMORY_SECONDS:
            raise SettingError(
                "TELEGRAM_BOT_TOKEN is in use by another program (or a webhook): stop that one, or take another bot"
            )
        log.warning(
            "another program asks for this bot's updates; trying once more in %g s", _CONFLICT_SECONDS
        )
        self._last = now


async def insist(call: Callable[[], Coroutine[Any, Any, T]], stopped: asyncio.Event) -> T | None:
    """What `call` returns, tried until Telegram answers; None where `stopped` came before that.

    Raises SettingError for a token that the server rejects, Conflict where somebody else asks for the updates.
    """
    wait = _BACKOFF_SECONDS
    while not stopped.is_set():
        try:
            return await _unless_stopped(call(), stopped)
        except InvalidToken:
            raise SettingError(
                "TELEGRAM_BOT_TOKEN was rejected by the Bot API server: copy it again from @BotFather "
                "(or look at TELEGRAM_API_URL, where it is set)"
            ) from None
        except Conflict:
            raise
        except TelegramError as error:
            pause = max(wait, seconds(error.retry_after)) if isinstance(error, RetryAfter) else wait
            log.warning("Telegram does not answer (%s), next try in %g s", type(error).__name__, pause)
        await _unless_stopped(asyncio.sleep(pause), stopped)
        wait = min(wait * 2, _BACKOFF_MOST_SECONDS)
    return None


def seconds(value: float | timedelta) -> float:
    """The library's durations: numbers today, timedeltas as it announces."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


async def _unless_stopped(work: Coroutine[Any, Any, T], stopped: asyncio.Event) -> T | None:
    task, stop = asyncio.ensure_future(work), asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for future in (task, stop):
            future.cancel()
        await asyncio.gather(task, stop, return_exceptions=True)
