"""The durable queue: the same work waits once, and what a killed process did not finish waits again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepsake.store import jobs
from keepsake.store.database import connect_writer


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = connect_writer(tmp_path / "memory.db")
    yield opened
    opened.close()


def test_the_same_work_waits_once(connection: sqlite3.Connection) -> None:
    assert jobs.enqueue(connection, "embed", "7", 10) is not None
    assert jobs.enqueue(connection, "embed", "7", 11) is None
    assert jobs.enqueue(connection, "embed", "8", 12) is not None


def test_work_that_comes_while_it_runs_is_not_missed_and_not_run_beside_it(
    connection: sqlite3.Connection,
) -> None:
    jobs.enqueue(connection, "embed", "7", 10)
    running = jobs.claim(connection, "embed", 20)
    assert running is not None
    assert jobs.enqueue(connection, "embed", "7", 21) is not None
    assert jobs.claim(connection, "embed", 30) is None
    jobs.finish(connection, running.id)
    assert jobs.claim(connection, "embed", 30) is not None


def test_a_job_is_claimed_when_its_time_has_come(connection: sqlite3.Connection) -> None:
    jobs.enqueue(connection, "extract", "7", 10, run_after=100)
    assert jobs.claim(connection, "extract", 99) is None
    assert jobs.due_kinds(connection, ["extract"], 99) == []
    assert jobs.due_kinds(connection, ["extract", "embed"], 100) == ["extract"]
    claimed = jobs.claim(connection, "extract", 100)
    assert claimed is not None
    assert claimed.attempts == 1


def test_a_killed_process_leaves_its_jobs_waiting(connection: sqlite3.Connection) -> None:
    jobs.enqueue(connection, "embed", "7", 10, user_id=7)
    assert jobs.claim(connection, "embed", 10) is not None
    jobs.requeue_running(connection, 20)
    again = jobs.claim(connection, "embed", 20)
    assert again is not None
    assert again.attempts == 2


def test_postponing_beside_a_waiting_twin_keeps_one(connection: sqlite3.Connection) -> None:
    jobs.enqueue(connection, "extract", "7", 10)
    running = jobs.claim(connection, "extract", 10)
    assert running is not None
    jobs.enqueue(connection, "extract", "7", 11)
    jobs.postpone(connection, running.id, 500)
    rows = connection.execute("SELECT state, run_after, attempts FROM jobs").fetchall()
    assert rows == [("waiting", 500, 1)]


def test_a_result_stays_for_whoever_waits(connection: sqlite3.Connection) -> None:
    job_id = jobs.enqueue(connection, "erase", "7", 10, payload={"reply": True})
    assert job_id is not None
    jobs.claim(connection, "erase", 10)
    jobs.finish_with(connection, job_id, "done", {"left": 0})
    assert jobs.result(connection, job_id) == ("done", {"left": 0})
    jobs.drop_results_before(connection, 11)
    assert jobs.result(connection, job_id) is None
