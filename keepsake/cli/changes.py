"""Commands that change something: reindex, verify --fix, erase and legal holds."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import asdict, dataclass

from tqdm import tqdm

from keepsake.cli.out import DONE, SOMETHING_OFF, remark, say_json
from keepsake.cli.queue import JobFailedError, JobQueue, Wish, Worker, fulfil, rounds
from keepsake.cli.readers import NO_MODEL, require_memory
from keepsake.clock import system_clock, to_micros
from keepsake.errors import DatabaseError, SettingError
from keepsake.forgetting.ledger import Ledger
from keepsake.settings import Settings


async def erase(settings: Settings, user_id: int) -> int:
    """Forgets a person and prints the receipt; that of the last time, where nothing is held any more."""
    require_memory(settings)
    async with Worker(settings) as worker:
        receipt = await fulfil(worker, JobQueue(settings.database_path), Wish("erase", user_id))
    if "seq" not in receipt:
        last = await asyncio.to_thread(Ledger(settings.data_dir).find, user_id)
        if last is None:
            remark("nothing is held about that user")
            return SOMETHING_OFF
        receipt = last.as_dict()
    say_json(receipt)
    if receipt["left"]:
        remark(f"{receipt['left']} bytes of that user are left: {receipt['left_in']}")
        return SOMETHING_OFF
    return DONE


async def hold(settings: Settings, user_id: int, reason: str, *, begins: bool) -> int:
    """Writes a legal hold, or its end, into the ledger and prints the line's number and hash."""
    require_memory(settings)
    wish = Wish("hold", user_id, {"reason": reason, "begins": begins})
    queue = JobQueue(settings.database_path)
    async with Worker(settings) as worker:
        say_json(await fulfil(worker, queue, wish))
    if begins and not await queue.read(_is_known, user_id):
        remark("nothing is kept about that user yet; the legal hold stands all the same")
    return DONE


def _is_known(connection: sqlite3.Connection, user_id: int) -> bool:
    return connection.execute("SELECT 1 FROM users WHERE user_id = ?", (user_id,)).fetchone() is not None


async def mend(settings: Settings) -> None:
    """Has everything mended that can be made anew. Where the damage is too great, says so; the checks say which."""
    require_memory(settings)
    try:
        async with Worker(settings) as worker:
            await fulfil(worker, JobQueue(settings.database_path), Wish("fix"))
    except (DatabaseError, JobFailedError) as error:
        remark(f"nothing was mended: {error}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The items that are to get vectors: a person's or everybody's, up to the newest there was when it was asked."""

    user: int | None
    message: int
    fact: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`total` items; `waiting` have no vector yet, `left` are not in the index. `busy`: somebody is at work on them."""

    total: int
    waiting: int
    left: int
    busy: bool


async def reindex(settings: Settings, user_id: int | None) -> int:
    """Makes the vectors and the vector index anew, of one person or of all, and waits until they are."""
    require_memory(settings)
    if settings.embedding_model == NO_MODEL:
        raise SettingError("EMBEDDING_MODEL is none: there is no vector index to build")
    async with Worker(settings) as worker:
        queue = JobQueue(settings.database_path)
        asked = await queue.read(_asked, user_id)
        if not (await queue.read(_progress, asked)).total:
            remark("nothing to index" if user_id is None else f"nothing found for user {user_id}")
            return SOMETHING_OFF
        await fulfil(worker, queue, Wish("reindex", user_id))
        end = await _watch(worker, queue, asked)
    if end.waiting:
        remark(
            f"{end.waiting} of {end.total} have no vector yet: the model could not make them;"
            " they are tried again later"
        )
        return SOMETHING_OFF
    remark(f"{end.total}/{end.total} vectors made")
    return DONE


async def _watch(worker: Worker, queue: JobQueue, asked: Asked) -> Progress:
    """Shows at a terminal how far it is, until all is made or no work on it is due any more."""
    progress = await queue.read(_progress, asked)
    with tqdm(total=progress.total, desc="vectors", unit="", leave=False, disable=None) as bar:
        async for _ in rounds(worker):
            progress = await queue.read(_progress, asked)
            bar.total = progress.total
            bar.n = progress.total - progress.waiting
            bar.refresh()
            if not progress.left or not progress.busy:
                break
    return progress


def _asked(connection: sqlite3.Connection, user_id: int | None) -> Asked:
    row = connection.execute(
        "SELECT coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(id) FROM facts), 0)"
    ).fetchone()
    return Asked(user_id, *row)


_OF_THEM = """
(:user IS NULL OR user_id = :user)
AND CASE kind WHEN 'message' THEN item_id <= :message ELSE item_id <= :fact END
"""
_PROGRESS = f"""
WITH left_over AS (
    SELECT user_id, 1 AS waits FROM vector_queue WHERE {_OF_THEM}
    UNION ALL SELECT user_id, 0 FROM embeddings WHERE in_chroma = 0 AND {_OF_THEM})
SELECT (SELECT count(*) FROM messages WHERE id <= :message AND (:user IS NULL OR user_id = :user))
    + (SELECT count(*) FROM facts
        WHERE id <= :fact AND status = 'active' AND (:user IS NULL OR user_id = :user)),
    (SELECT count(*) FROM left_over WHERE waits),
    (SELECT count(*) FROM left_over),
    EXISTS (SELECT 1 FROM jobs WHERE kind IN ('embed', 'chroma') AND user_id IN (SELECT user_id FROM left_over)
        AND (state = 'running' OR (state = 'waiting' AND run_after <= :now)))
"""


def _progress(connection: sqlite3.Connection, asked: Asked) -> Progress:
    values = {**asdict(asked), "now": to_micros(system_clock())}
    total, waiting, left, busy = connection.execute(_PROGRESS, values).fetchone()
    return Progress(total, waiting, left, bool(busy))
