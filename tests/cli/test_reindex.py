"""Whom `reindex` waits for, and until when."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from keepsake.cli.changes import reindex
from keepsake.cli.out import DONE
from keepsake.cli.queue import JobQueue
from keepsake.lock import FolderLock, held
from keepsake.manager import HybridMemoryManager
from keepsake.settings import Settings
from keepsake.store import embeddings, jobs

SECONDS = 30


@pytest.fixture
async def queue(settings: Settings) -> JobQueue:
    """Of a folder in which user 1 has said two things."""
    async with HybridMemoryManager(settings) as memory:
        await memory.save_message(1, "user", "I like tea")
        await memory.save_message(1, "user", "and coffee")
        await memory.flush()
    return JobQueue(settings.database_path)


def reply(connection: sqlite3.Connection) -> bool:
    """Ends the job `reindex`, where it is there."""
    row = connection.execute("SELECT id FROM jobs WHERE kind = 'reindex'").fetchone()
    if row is None:
        return False
    jobs.finish_with(connection, row[0], "done", {"users": 1})
    return True


def begin_embedding(connection: sqlite3.Connection) -> None:
    jobs.enqueue(connection, "embed", "1", 1, user_id=1)
    assert jobs.claim(connection, "embed", 2) is not None


def begin_anew(connection: sqlite3.Connection) -> None:
    embeddings.delete(connection, 1)
    for message in (1, 2):
        embeddings.queue(connection, 1, "message", message)
    begin_embedding(connection)


def say_more(connection: sqlite3.Connection) -> None:
    embeddings.queue(connection, 1, "message", 3)
    begin_embedding(connection)


async def asked(settings: Settings, queue: JobQueue) -> asyncio.Task[int]:
    """`reindex`, which the holder of the folder is asked for."""
    task = asyncio.create_task(reindex(settings, None))
    while not await queue.write(reply):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return task


async def test_where_the_bot_has_gone_it_makes_the_vectors_itself(
    settings: Settings, queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    """It waited for ever for what a killed bot had begun."""
    with FolderLock(settings.data_dir):
        await queue.write(begin_anew)
        task = await asked(settings, queue)
    async with asyncio.timeout(SECONDS):
        assert await task == DONE
    assert capsys.readouterr().err.strip() == "2/2 vectors made"
    assert not held(settings.data_dir)


async def test_what_is_said_meanwhile_is_not_waited_for(
    settings: Settings, queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    with FolderLock(settings.data_dir):
        await queue.write(say_more)
        task = await asked(settings, queue)
        async with asyncio.timeout(SECONDS):
            assert await task == DONE
    assert capsys.readouterr().err.strip() == "2/2 vectors made"
