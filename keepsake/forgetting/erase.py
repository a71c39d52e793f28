"""Forgets a person: rows, keyword index, vectors, free space, write-ahead log; then a scan and a receipt.

Each step may be done twice. What makes the whole durable is the `erase` job that the engine runs it from: it
stays in the queue until the receipt is there, and a plan beside memory.db (`plan`) tells a second run what
the first one had found.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sqlite3
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from keepsake.clock import from_micros, to_micros
from keepsake.errors import DatabaseError, ErasureHeld, VectorIndexError
from keepsake.forgetting import registry
from keepsake.forgetting.ledger import Ledger, Receipt
from keepsake.forgetting.plan import Plan, plan_path, remove
from keepsake.forgetting.scan import scan_apart, traces
from keepsake.store import embeddings, in_flight, inbox, jobs, users
from keepsake.store.database import Database

log = logging.getLogger(__name__)

_LOG_PATIENCE_SECONDS = 60.0
_LOG_PAUSE_SECONDS = 0.3


class Collections(Protocol):
    """The port to the vector index. `generation` goes up whenever all of it was lost."""

    generation: int

    async def delete_collection(self, handle: str) -> None:
        """Deletes a collection so that no byte of it stays."""

    async def wipe(self) -> None:
        """Deletes the whole index; it is made anew from SQLite."""


async def erase_user(
    *, db: Database, chroma: Collections | None, data_dir: Path, user_id: int, now: datetime
) -> Receipt | None:
    """Erases all that is held about a person and proves it. None where nothing is held.

    The caller has stopped the person's jobs and dropped what RAM holds of them. Idempotent: after a kill it
    goes on where it was. Raises ErasureHeld where a legal hold stands, DatabaseError where somebody reads
    memory.db for so long that the write-ahead log cannot be truncated: try again later.
    """
    ledger = Ledger(data_dir)
    path = plan_path(data_dir, await asyncio.to_thread(ledger.subject, user_id))
    begun = await asyncio.to_thread(Plan.load, path)
    if begun is None:  # what has begun is finished, whatever came since
        receipt = await _finished_before(db, ledger, user_id)
        if receipt is not None:
            return receipt
        await asyncio.to_thread(refuse_where_held, ledger, user_id)
    plan = await _prepare(db, path, user_id, begun)
    if plan is None:
        return None
    await asyncio.to_thread(in_flight.drop, data_dir, await db.read(inbox.filed_of, user_id))
    erased = await db.write(delete_rows, user_id)
    await erase_vectors(db, chroma, data_dir, plan.handles, now)
    await rewrite(db)
    await truncate_log(db)
    left = await asyncio.to_thread(scan_apart, data_dir, path, user_id)
    counts = {name: max(count, plan.counts.get(name, 0)) for name, count in erased.items()}
    receipt = await asyncio.to_thread(_prove, ledger, user_id, replace(plan, counts=counts), left, now)
    await asyncio.to_thread(remove, path)
    return receipt


def refuse_where_held(ledger: Ledger, user_id: int) -> None:
    """Raises ErasureHeld where a legal hold stands. Blocking."""
    reason = ledger.held(user_id)
    if reason is not None:
        raise ErasureHeld(
            f"a legal hold stands ({reason}): end it first, with `bot.py erase ID --release REASON`"
        )


async def _prepare(db: Database, path: Path, user_id: int, plan: Plan | None) -> Plan | None:
    """The plan, on the disk, before the first row goes. `plan`: that of a run which was interrupted."""
    counts = await db.read(registry.count_rows, user_id)
    if not any(counts.values()):
        return plan
    texts, vectors = await db.read(traces, user_id)
    handle = await db.read(users.handle, user_id)
    found = (counts, (handle,) if handle else (), texts, vectors)
    plan = await asyncio.to_thread(plan.extended if plan else Plan.make, *found)
    await asyncio.to_thread(plan.save, path)
    return plan


def delete_rows(connection: sqlite3.Connection, user_id: int) -> dict[str, int]:
    """Takes away every row of a person, in one transaction. Returns how many of each table."""
    _delete_from_keyword_index(connection, user_id)
    counts = {
        entry.name: connection.execute(
            f"UPDATE {entry.name} SET {entry.scrub} WHERE {entry.owner}"
            if entry.scrub
            else f"DELETE FROM {entry.name} WHERE {entry.owner}",
            registry.parameters(user_id),
        ).rowcount
        for entry in registry.owned()
    }
    merge_keyword_index(connection)
    if _words_left(connection, user_id):
        connection.execute("INSERT INTO keyword_index (keyword_index) VALUES ('rebuild')")
    return counts


def merge_keyword_index(connection: sqlite3.Connection) -> None:
    """Deleted words stay in older segments until all segments are merged into one."""
    connection.execute("INSERT INTO keyword_index (keyword_index) VALUES ('optimize')")


def _delete_from_keyword_index(connection: sqlite3.Connection, user_id: int) -> None:
    # External content: FTS5 is told which words each row had.
    connection.execute(
        "INSERT INTO keyword_index (keyword_index, rowid, terms)"
        " SELECT 'delete', message_id, terms FROM keywords WHERE user_id = ?",
        (user_id,),
    )


def _words_left(connection: sqlite3.Connection, user_id: int) -> bool:
    # Each word stands behind its owner's id and a colon; a semicolon is the character after the colon.
    row = connection.execute(
        "SELECT 1 FROM keyword_counts WHERE term >= ? AND term < ? LIMIT 1", (f"{user_id}:", f"{user_id};")
    ).fetchone()
    return row is not None


async def erase_vectors(
    db: Database, chroma: Collections | None, data_dir: Path, handles: tuple[str, ...], now: datetime
) -> None:
    """Deletes these collections so that no byte of them stays."""
    vector_dir = data_dir / "vector_db"
    if chroma is None:
        # Left from a time when there was an index; nobody has it open, and nothing stands only there.
        if vector_dir.exists():
            await asyncio.to_thread(shutil.rmtree, vector_dir)
            await db.write(_index_is_empty, to_micros(now))
        return
    generation = chroma.generation
    try:
        for handle in handles:
            await chroma.delete_collection(handle)
    except VectorIndexError as error:
        log.warning("the vector index is made anew, since a collection could not be deleted: %s", error)
        await chroma.wipe()
    if chroma.generation != generation:
        await db.write(_index_is_empty, to_micros(now))


def _index_is_empty(connection: sqlite3.Connection, now: int) -> None:
    for user_id in embeddings.forget_chroma(connection):
        jobs.enqueue(connection, "chroma", str(user_id), now, user_id=user_id)


async def rewrite(db: Database) -> None:
    """Writes memory.db anew."""
    # Deleted rows are overwritten (secure_delete), but not what stays of them where SQLite moved rows from
    # page to page. Without the disk for a second copy the scan says what is left.
    try:
        await db.vacuum()
    except sqlite3.OperationalError as error:
        log.warning("memory.db could not be written anew: %s", error)


async def truncate_log(db: Database, patience_seconds: float = _LOG_PATIENCE_SECONDS) -> None:
    """Empties the write-ahead log, in which old pages stand; waits for readers of them to end.

    Raises DatabaseError after so long, by default a minute.
    """
    log_path = db.path.with_name(db.path.name + "-wal")
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        await db.checkpoint()
        if not log_path.exists() or log_path.stat().st_size == 0:
            return
        await asyncio.sleep(_LOG_PAUSE_SECONDS)
    raise DatabaseError(f"{log_path} cannot be emptied while another program reads it; end that program")


def _prove(ledger: Ledger, user_id: int, plan: Plan, left: dict[str, int], now: datetime) -> Receipt:
    written = ledger.find(user_id, erasure=plan.erasure)
    return written or ledger.append(user_id, plan.erasure, plan.counts, left, now)


async def _finished_before(db: Database, ledger: Ledger, user_id: int) -> Receipt | None:
    """The receipt, where the process was killed after it was written and before its job was taken off."""
    created = await db.read(_job_created, user_id)
    if created is None:
        return None
    return await asyncio.to_thread(ledger.find, user_id, since=from_micros(created))


def _job_created(connection: sqlite3.Connection, user_id: int) -> int | None:
    row = connection.execute(
        "SELECT min(created_at) FROM jobs WHERE kind = 'erase' AND user_id = ? AND state = 'running'",
        (user_id,),
    ).fetchone()
    return row[0] if row else None


def strip_job(connection: sqlite3.Connection, job_id: int) -> None:
    """Takes the person out of the `erase` job itself, in the transaction that finishes it.

    What stays, until its result is fetched, says that somebody was erased, and where they asked for it, to whom the
    receipt goes.
    """
    (payload,) = connection.execute("SELECT payload FROM jobs WHERE id = ?", (job_id,)).fetchone()
    told = json.loads(payload).get("told")
    kept = {"reply": True} | ({"told": told} if told else {})
    connection.execute(
        "UPDATE jobs SET user_id = NULL, key = 'erase-' || id, payload = ? WHERE id = ?",
        (json.dumps(kept), job_id),
    )
