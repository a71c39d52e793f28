"""Runs of messages become due, and a message that changes or goes takes its summary with it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from keepsake.store import messages, summaries, users
from keepsake.store.database import connect_writer
from keepsake.store.messages import NewMessage
from keepsake.store.summaries import Compaction

NOW = datetime(2026, 3, 11, tzinfo=UTC)
RULES = Compaction(size=10, kept=3, in_full=2, condensed=4, characters=1000)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect_writer(tmp_path / "memory.db")
    for user in (5, 6):
        users.ensure(connection, user, 0)
    yield connection
    connection.close()


def say(connection: sqlite3.Connection, count: int, user: int = 5, content: str = "short") -> list[int]:
    """Saves messages and plans after each, as the store does. Returns how many there were when a run came to be."""
    due = []
    for _ in range(count):
        messages.insert(connection, NewMessage(user, "user", content, NOW), ["short"], 1)
        if summaries.plan(connection, user, RULES):
            due.append(
                connection.execute("SELECT count(*) FROM messages WHERE user_id = ?", (user,)).fetchone()[0]
            )
    return due


def runs(connection: sqlite3.Connection, user: int = 5) -> list[tuple[int, int]]:
    return connection.execute(
        "SELECT first_id, last_id FROM summaries WHERE user_id = ? ORDER BY first_id", (user,)
    ).fetchall()


def fill_all(connection: sqlite3.Connection, user: int = 5) -> None:
    while (run := summaries.waiting(connection, user, RULES.kept)) is not None:
        name = f"of {run.first_id}"
        assert summaries.fill(connection, run, name, 1, model="m", prompt_version="summary.v1")


def shown(connection: sqlite3.Connection, before: int | None = None) -> list[str]:
    return [one.content for one in summaries.newest(connection, 5, RULES.kept, before)]


def jobs_of(connection: sqlite3.Connection, user: int = 5) -> int:
    row = connection.execute(
        "SELECT count(*) FROM jobs WHERE user_id = ? AND kind = 'summarise' AND state = 'waiting'", (user,)
    ).fetchone()
    return int(row[0])


def test_what_the_context_no_longer_shows_becomes_runs_one_after_the_other(
    connection: sqlite3.Connection,
) -> None:
    assert say(connection, 40) == [16, 26, 36]
    assert runs(connection) == [(1, 10), (11, 20), (21, 30)]


def test_long_messages_are_due_before(connection: sqlite3.Connection) -> None:
    assert say(connection, 13, content="x" * 100) == [12]
    assert runs(connection) == [(1, 10)]


def test_of_a_long_past_only_the_newest_runs_are_made(connection: sqlite3.Connection) -> None:
    for _ in range(200):
        messages.insert(connection, NewMessage(5, "user", "old", NOW), ["old"], 1)
    assert say(connection, 1) == [201]
    assert runs(connection) == [(166, 175), (176, 185), (186, 195)]
    assert say(connection, 9) == []
    assert say(connection, 1) == [211]


def test_two_people_have_runs_of_their_own(connection: sqlite3.Connection) -> None:
    for _ in range(16):
        say(connection, 1)
        say(connection, 1, user=6)
    assert runs(connection) == [(1, 19)]
    assert runs(connection, 6) == [(2, 20)]
    fill_all(connection)
    connection.execute("DELETE FROM keywords")
    connection.execute("DELETE FROM messages WHERE id = 4")  # the other person's, in the middle of the run
    assert shown(connection) == ["of 1"]


def test_the_newest_are_shown_oldest_first_and_none_of_what_comes_later(
    connection: sqlite3.Connection,
) -> None:
    say(connection, 60)
    fill_all(connection)
    assert shown(connection) == ["of 21", "of 31", "of 41"]
    assert shown(connection, before=45) == ["of 21", "of 31"]


def test_an_edited_message_takes_its_summary_with_it(connection: sqlite3.Connection) -> None:
    say(connection, 40)
    fill_all(connection)
    connection.execute("UPDATE messages SET content = 'another' WHERE id = 15")
    assert shown(connection) == ["of 1", "of 21"]
    assert jobs_of(connection) == 1
    connection.execute("UPDATE messages SET content = 'another' WHERE id = 39")  # of no run yet
    assert shown(connection) == ["of 1", "of 21"]
    fill_all(connection)
    assert shown(connection) == ["of 1", "of 11", "of 21"]


def test_an_erased_message_takes_its_summary_with_it(connection: sqlite3.Connection) -> None:
    say(connection, 40)
    fill_all(connection)
    connection.execute("DELETE FROM keywords")
    connection.execute("DELETE FROM messages WHERE id = 20")
    assert shown(connection) == ["of 1", "of 21"]
    assert jobs_of(connection) == 1
    run = summaries.waiting(connection, 5, RULES.kept)
    assert run is not None
    assert [one.id for one in summaries.messages_of(connection, 5, run)] == list(range(11, 20))


def test_a_summary_of_what_was_edited_meanwhile_is_not_kept(connection: sqlite3.Connection) -> None:
    say(connection, 16)
    run = summaries.waiting(connection, 5, RULES.kept)
    assert run is not None
    connection.execute("UPDATE messages SET content = 'another' WHERE id = 3")
    assert not summaries.fill(connection, run, "of old words", 1, model="m", prompt_version="v")
    assert shown(connection) == []
    fill_all(connection)
    assert shown(connection) == ["of 1"]


def test_runs_never_overlap_whatever_comes(connection: sqlite3.Connection) -> None:
    chance = random.Random(3)
    for _ in range(150):
        say(connection, 1, content="x" * chance.choice([5, 5, 300]))
    found = runs(connection)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(found))
    assert all(last - first == 9 for first, last in found)
