"""A user's tokens: what every request took, and the end of the day's."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta

from keepsake.clock import Clock, utc_day
from keepsake.errors import DatabaseError, TokensUsedUp
from keepsake.models import Spent
from keepsake.store import usage
from keepsake.store.database import Database

log = logging.getLogger(__name__)


class UserAccount:
    """Counts one user's tokens in memory.db, and refuses more than `daily` a day (UTC); 0: any number."""

    def __init__(self, database: Database, user_id: int, *, daily: int, clock: Clock) -> None:
        self._database = database
        self._user_id = user_id
        self._daily = daily
        self._clock = clock

    async def check(self) -> None:
        """Raises TokensUsedUp where the day's tokens are spent. What has begun may go beyond them."""
        if not self._daily:
            return
        now = self._clock()
        if await self._database.read(usage.on_day, self._user_id, utc_day(now)) >= self._daily:
            until = day_after(now)
            raise TokensUsedUp(limit=self._daily, until=until, seconds=(until - now).total_seconds())

    async def charge(self, spent: Spent) -> None:
        """Counts what a request took. Where that cannot be written, the answer matters more."""
        try:
            await self._database.write(usage.add, self._user_id, utc_day(self._clock()), spent)
        except DatabaseError as error:
            log.warning("tokens were not counted: %s", error)


class LazyAccount:
    """An account whose memory is opened only where it is needed."""

    def __init__(self, opened: Callable[[], Awaitable[UserAccount]]) -> None:
        self._opened = opened

    async def check(self) -> None:
        await (await self._opened()).check()

    async def charge(self, spent: Spent) -> None:
        await (await self._opened()).charge(spent)


def day_after(now: datetime) -> datetime:
    """When the next day begins, in UTC."""
    return datetime.combine(utc_day(now) + timedelta(days=1), time(), UTC)
