"""Messages by when they were said."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from keepsake.clock import to_micros
from keepsake.store import messages, users
from keepsake.store.database import connect_writer
from keepsake.store.messages import NewMessage, in_periods

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
GAP = 30 * 60 * 1_000_000


@dataclass(frozen=True)
class Stretch:
    start: datetime
    end: datetime


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect_writer(tmp_path / "memory.db")
    for user_id in (7, 8):
        users.ensure(connection, user_id, to_micros(START))
    yield connection
    connection.close()


def say(connection: sqlite3.Connection, user_id: int, when: datetime) -> int:
    return messages.insert(connection, NewMessage(user_id, "user", "hello", when), ["hello"], GAP).id


def test_a_period_has_its_start_and_not_its_end(connection: sqlite3.Connection) -> None:
    ids = [say(connection, 7, START + hour * HOUR) for hour in range(4)]
    assert in_periods(connection, 7, [Stretch(START + HOUR, START + 3 * HOUR)], 10) == [ids[2], ids[1]]


def test_the_zone_of_a_period_counts(connection: sqlite3.Connection) -> None:
    said = say(connection, 7, START - HOUR)  # 1 March, 06:00 in Hanoi
    day = datetime(2026, 3, 1, tzinfo=timezone(7 * HOUR))
    assert in_periods(connection, 7, [Stretch(day, day + 24 * HOUR)], 10) == [said]
    with pytest.raises(ValueError, match="time zone"):
        in_periods(connection, 7, [Stretch(day.replace(tzinfo=None), day)], 10)


def test_the_newest_of_all_periods_once_each_and_nobody_elses(connection: sqlite3.Connection) -> None:
    """Held against every message looked at, whatever the order in which they came."""
    chance = random.Random(4)
    said: dict[int, list[tuple[datetime, int]]] = {7: [], 8: []}
    connection.execute("BEGIN")
    for _ in range(300):
        user_id, when = chance.choice((7, 8)), START + chance.randrange(1000) * HOUR
        said[user_id].append((when, say(connection, user_id, when)))
    connection.execute("COMMIT")
    for _ in range(50):
        stretches = [
            Stretch(start, start + chance.randrange(-5, 300) * HOUR)
            for start in (START + chance.randrange(1000) * HOUR for _ in range(chance.randrange(4)))
        ]
        before, limit = chance.choice((None, 0, 150)), chance.choice((1, 5, 1000))
        expected = [
            message_id
            for when, message_id in sorted(said[7], reverse=True)
            if any(stretch.start <= when < stretch.end for stretch in stretches)
            and (before is None or message_id < before)
        ]
        assert in_periods(connection, 7, stretches, limit, before) == expected[:limit]


def test_an_index_answers_alone(connection: sqlite3.Connection) -> None:
    """At 50,000 messages anything else would read them all."""
    plan = connection.execute("EXPLAIN QUERY PLAN " + messages.IN_PERIOD, (7, 0, 1, 2, 3)).fetchall()
    steps = [row[3] for row in plan]
    assert [step.split(" (user_id")[0] for step in steps if "SCAN" in step or "SEARCH" in step] == [
        "SEARCH messages USING COVERING INDEX messages_by_time"
    ]
    assert "created_at>? AND created_at<?" in steps[0]
