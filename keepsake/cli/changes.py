"""Commands that change something: reindex, verify --fix, erase."""

from __future__ import annotations

import asyncio
import sqlite3

from tqdm import tqdm

from keepsake.cli.out import DONE, SOMETHING_OFF, remark, say_json
from keepsake.cli.queue import JobQueue, Wish, Worker, fulfil
from keepsake.cli.readers import NO_MODEL, require_memory
from keepsake.clock import system_clock, to_micros
from keepsake.errors import SettingError
from keepsake.settings import Settings

_POLL_SECONDS = 0.3


async def erase(settings: Settings, user_id: int) -> int:
    """Forgets a person and prints the receipt."""
    require_memory(settings)
    async with Worker(settings) as worker:
        receipt = await fulfil(worker, JobQueue(settings.database_path), Wish("erase", user_id))
    if "seq" not in receipt:
        remark("nothing is held about that user")
        return SOMETHING_OFF
    say_json(receipt)
    if receipt["left"]:
        remark(f"{receipt['left']} bytes of that user are left: {receipt['left_in']}")
        return SOMETHING_OFF
    return DONE


async def mend(settings: Settings) -> None:
    """Has everything mended that can be made anew."""
    require_memory(settings)
    async with Worker(settings) as worker:
        await fulfil(worker, JobQueue(settings.database_path), Wish("fix"))


async def reindex(settings: Settings, user_id: int | None) -> int:
    """Makes the vectors and the vector index anew, of one person or of all, and waits until they are."""
    require_memory(settings)
    if settings.embedding_model == NO_MODEL:
        raise SettingError("EMBEDDING_MODEL is none: there is no vector index to build")
    async with Worker(settings) as worker:
        queue = JobQueue(settings.database_path)
        total, _ = await queue.read(_progress, user_id)
        if not total:
            remark("nothing to index" if user_id is None else f"nothing found for user {user_id}")
            return SOMETHING_OFF
        await fulfil(worker, queue, Wish("reindex", user_id))
        left = await _watch(queue, user_id, total)
    if left:
        remark(
            f"{left} of {total} have no vector yet: the model could not make them; they are tried again later"
        )
        return SOMETHING_OFF
    return DONE


async def _watch(queue: JobQueue, user_id: int | None, total: int) -> int:
    """Shows how far it is, until no work is due any more. Returns how many have no vector."""
    with tqdm(total=total, desc="vectors", unit="") as bar:
        while True:
            busy = await queue.read(_busy, user_id, to_micros(system_clock()))
            total, waiting = await queue.read(_progress, user_id)
            bar.total = total
            bar.n = total - waiting
            bar.refresh()
            if not busy:
                return waiting
            await asyncio.sleep(_POLL_SECONDS)


def _progress(connection: sqlite3.Connection, user_id: int | None) -> tuple[int, int]:
    """Messages and active facts, and how many of them wait for a vector."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM messages WHERE :user IS NULL OR user_id = :user)"
        " + (SELECT count(*) FROM facts WHERE status = 'active' AND (:user IS NULL OR user_id = :user)),"
        " (SELECT count(*) FROM vector_queue WHERE :user IS NULL OR user_id = :user)",
        {"user": user_id},
    ).fetchone()
    return int(row[0]), int(row[1])


def _busy(connection: sqlite3.Connection, user_id: int | None, now: int) -> bool:
    row = connection.execute(
        "SELECT 1 FROM jobs WHERE kind IN ('embed', 'chroma') AND (:user IS NULL OR user_id = :user)"
        " AND (state = 'running' OR (state = 'waiting' AND run_after <= :now)) LIMIT 1",
        {"user": user_id, "now": now},
    ).fetchone()
    return row is not None
