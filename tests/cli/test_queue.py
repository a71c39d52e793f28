"""Who does what a command asks for: this process, or the one that holds the folder."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from keepsake.cli.queue import JobFailedError, JobQueue, Wish, Worker, fulfil
from keepsake.errors import DatabaseError, FolderHeld
from keepsake.lock import FolderLock, held
from keepsake.manager import MemoryManager
from keepsake.settings import Settings, load_settings
from keepsake.store import jobs

WISH = Wish("reindex", 1)


@pytest.fixture
async def kept(settings: Settings) -> Settings:
    """Settings of a folder in which user 1 has said something; keyword search only."""
    settings = load_settings(embedding_model="none")
    async with MemoryManager(settings) as memory:
        await memory.save_message(1, "user", "I like tea")
    return settings


def all_jobs(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """But for what waits for a quiet user, and for its hour."""
    return connection.execute(
        "SELECT kind, user_id, state FROM jobs WHERE kind NOT IN ('idle', 'dream_check')"
    ).fetchall()


async def test_with_nobody_there_this_process_does_it(kept: Settings) -> None:
    queue = JobQueue(kept.database_path)
    async with Worker(kept) as worker:
        assert worker.works
        assert held(kept.data_dir)
        assert await fulfil(worker, queue, WISH) == {"users": 1}
    assert not held(kept.data_dir)
    assert await queue.read(all_jobs) == []


async def test_a_holder_that_does_no_jobs_is_told_and_the_job_taken_back(kept: Settings) -> None:
    queue = JobQueue(kept.database_path)
    with FolderLock(kept.data_dir):
        async with Worker(kept) as worker:
            assert not worker.works
            with pytest.raises(FolderHeld, match=f"process {os.getpid()}"):
                await fulfil(worker, queue, WISH, patience=0.5)
    assert await queue.read(all_jobs) == []


async def test_it_takes_over_from_a_holder_that_has_gone(kept: Settings) -> None:
    lock = FolderLock(kept.data_dir)
    lock.acquire()
    queue = JobQueue(kept.database_path)
    async with Worker(kept) as worker:
        task = asyncio.create_task(fulfil(worker, queue, WISH))
        while not await queue.read(all_jobs):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        lock.release()
        assert await task == {"users": 1}
        assert worker.works


async def test_a_job_that_failed_says_why(kept: Settings) -> None:
    queue = JobQueue(kept.database_path)
    with FolderLock(kept.data_dir):
        async with Worker(kept) as worker:
            task = asyncio.create_task(fulfil(worker, queue, WISH))
            while not await queue.read(all_jobs):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            (job_id,) = await queue.read(
                lambda c: c.execute("SELECT id FROM jobs WHERE kind = 'reindex'").fetchone()
            )
            await queue.write(jobs.finish_with, job_id, "failed", {"error": "the disk is full"})
            with pytest.raises(JobFailedError, match="the disk is full"):
                await task
    assert await queue.read(all_jobs) == []


async def test_interrupted_it_leaves_the_job(kept: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    queue = JobQueue(kept.database_path)
    with FolderLock(kept.data_dir):
        async with Worker(kept) as worker:
            task = asyncio.create_task(fulfil(worker, queue, WISH))
            while not await queue.read(all_jobs):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert await queue.read(all_jobs) == [("reindex", 1, "waiting")]
    assert "stays queued" in capsys.readouterr().err


async def test_a_file_that_is_no_database_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 1000)
    with pytest.raises(DatabaseError, match=r"memory\.db"):
        await JobQueue(tmp_path / "memory.db").read(all_jobs)
