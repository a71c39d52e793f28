"""What the engine does about forgetting: wishes to be forgotten, legal holds, and erasures that a backup undid."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

from keepsake.clock import Clock, to_micros
from keepsake.errors import ErasureHeld, KeepsakeError
from keepsake.forgetting import anchor, erase, registry
from keepsake.forgetting.ledger import Ledger, Receipt
from keepsake.jobs import Done
from keepsake.models import Job
from keepsake.store import jobs
from keepsake.store.database import Database

log = logging.getLogger(__name__)

ERASE, HOLD, PRUNE = "erase", "hold", "prune"
_POLL_SECONDS = 0.1

Pause = Callable[[int], AbstractAsyncContextManager[None]]


class Forgetting:
    """Over one data folder. `stop` ends a person's jobs, `drop` takes them out of RAM.

    `pause` keeps front ends from handling what a person says while they are being erased.
    """

    def __init__(
        self,
        database: Database,
        chroma: erase.Collections | None,
        data_dir: Path,
        clock: Clock,
        *,
        stop: Callable[[int], Awaitable[None]],
        drop: Callable[[int], None],
        pause: Pause,
        ledger: Ledger,
        archive: erase.DoomedFiles,
    ) -> None:
        self._database = database
        self._chroma = chroma
        self._data_dir = data_dir
        self._clock = clock
        self._stop = stop
        self._drop = drop
        self._pause = pause
        self.ledger = ledger
        self._archive = archive
        self.erased_again = 0  # by `replay`

    async def begin(self, user_id: int, told: dict[str, object] | None = None) -> int | None:
        """Queues a person's erasure and returns its number; None where it waits already.

        `told`: where the receipt is sent when it is done; None: whoever waits for `result` gets it. Raises ErasureHeld.
        """
        await asyncio.to_thread(erase.refuse_where_held, self.ledger, user_id)
        payload: dict[str, object] = {"keep": True, "told": told} if told else {"keep": True}
        return await self._database.write(
            jobs.enqueue, ERASE, str(user_id), self._now(), user_id=user_id, payload=payload
        )

    async def result(self, job_id: int) -> dict[str, object]:
        """Waits for an erasure's end. The receipt (`Receipt.as_dict`), empty where nothing was held."""
        while (found := await self._database.read(jobs.result, job_id)) is not None:
            state, result = found
            if state == "done":
                await self._database.write(jobs.finish, job_id)
                return result
            await asyncio.sleep(_POLL_SECONDS)
        return {}

    async def erase(self, job: Job) -> Done:
        """The job that forgets a person."""
        assert job.user_id is not None
        async with self._pause(job.user_id):
            receipt = await self._erase(job.user_id)

        def commit(connection: sqlite3.Connection) -> None:
            erase.strip_job(connection, job.id)
            anchor.move(connection, self.ledger)

        return Done(commit, receipt.as_dict() if receipt else {})

    async def _erase(self, user_id: int) -> Receipt | None:
        await self._stop(user_id)
        self._drop(user_id)
        receipt = await erase.erase_user(
            db=self._database,
            chroma=self._chroma,
            data_dir=self._data_dir,
            user_id=user_id,
            now=self._clock(),
            archive=self._archive,
        )
        self._drop(user_id)
        return receipt

    async def hold(self, job: Job) -> Done:
        """The job that writes a legal hold, or its end, into the ledger."""
        assert job.user_id is not None
        reason, begins = str(job.payload["reason"]), bool(job.payload["begins"])
        if not begins and await asyncio.to_thread(self.ledger.held, job.user_id) is None:
            raise KeepsakeError("no legal hold stands for that person")
        write = self.ledger.hold if begins else self.ledger.release
        line = await asyncio.to_thread(write, job.user_id, reason, self._clock())
        result = {"seq": line.seq, "sha256": line.sha256, "held": begins, "reason": reason}
        return Done(partial(anchor.move, ledger=self.ledger), result)

    async def replay(self) -> None:
        """Erases again whoever a restored memory.db brought back. To be done before anybody is served."""
        remembered = await self._database.read(anchor.read)
        if not await asyncio.to_thread(anchor.stands, self.ledger, remembered):
            log.error("the ledger of erasures was cut off: `bot.py verify` says where")
            return
        end = await asyncio.to_thread(self.ledger.end)
        if remembered is not None and end is not None and remembered.seq < end.seq:
            self.erased_again = await self._erase_again(remembered.seq)
        await self._database.write(anchor.move, self.ledger)

    async def _erase_again(self, after: int) -> int:
        everybody = await self._database.read(registry.people)
        gone = await asyncio.to_thread(self.ledger.erased_after, after)
        back = [user_id for user_id in everybody if self.ledger.subject(user_id) in gone]
        for user_id in back:
            try:
                await self._erase(user_id)
            except ErasureHeld:  # it is done when the hold ends
                await self._begin_when_released(user_id)
        if back:
            log.warning("%d people who were erased stood in memory.db again and were erased again", len(back))
        return len(back)

    async def _begin_when_released(self, user_id: int) -> None:
        """Queues an erasure that a hold stands against: it is tried until it may be done."""
        await self._database.write(jobs.enqueue, ERASE, str(user_id), self._now(), user_id=user_id)

    def _now(self) -> int:
        return to_micros(self._clock())
