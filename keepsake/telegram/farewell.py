"""The last message to somebody who was erased: the receipt.

Nothing of the person is left then, neither inbox nor outbox, so it does not go through them. The finished job holds
where it goes, until it is sent: after a kill it is told at the next start.
"""

from __future__ import annotations

import asyncio
import logging

import httpx
from telegram import Bot
from telegram.error import BadRequest, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from handlers.delete_me import receipt_text
from keepsake.errors import DatabaseError
from keepsake.forgetting.service import ERASE
from keepsake.store import jobs
from keepsake.store.database import Database
from keepsake.store.jobs import Told
from keepsake.telegram.limits import Limits
from keepsake.telegram.polling import seconds

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.3
_BACKOFF_SECONDS = 5.0
_NOT_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Farewells:
    """Sends the receipts of erasures that were asked for here."""

    def __init__(self, database: Database, bot: Bot, limits: Limits) -> None:
        self._database = database
        self._bot = bot
        self._limits = limits
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Somebody may have asked: waits in the background for the end of what there is."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._tell_all(), name="farewells")

    async def close(self) -> None:
        """What is not told yet is told at the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _tell_all(self) -> None:
        while True:
            try:
                waiting = await self._database.read(jobs.told_later, ERASE)
                if not waiting:
                    return
                for job in waiting:
                    if job.state == "done":
                        await self._tell(job)
                await asyncio.sleep(_LOOK_SECONDS)
            except DatabaseError as error:
                log.error("a receipt waits: %s", error)
                await asyncio.sleep(_BACKOFF_SECONDS)

    async def _tell(self, job: Told) -> None:
        if await self._settled(job):
            await self._database.write(jobs.finish, job.job_id)
            await self._database.checkpoint()  # no id of theirs in the write-ahead log either

    async def _settled(self, job: Told) -> bool:
        """Sends it. False: it surely did not arrive, and is tried again."""
        chat_id = int(job.to["chat_id"])
        await self._limits.turn(chat_id)
        try:
            await self._bot.send_message(
                chat_id,
                receipt_text(str(job.to["language"]), job.result),
                message_thread_id=job.to["thread_id"],
            )
        except RetryAfter as error:
            self._limits.pause(chat_id, seconds(error.retry_after))
            return False
        except (BadRequest, Forbidden) as error:  # they do not want to hear us, or are gone
            log.info("a receipt was refused: %s", type(error).__name__)
        except (NetworkError, InvalidToken) as error:
            if isinstance(error, InvalidToken) or isinstance(error.__cause__, _NOT_ARRIVED):
                await asyncio.sleep(_BACKOFF_SECONDS)
                return False
            log.warning("a receipt may be lost (%s); it is not sent twice", type(error).__name__)
        except TelegramError as error:
            log.info("a receipt was refused: %s", type(error).__name__)
        finally:
            self._limits.done(chat_id)
        return True
