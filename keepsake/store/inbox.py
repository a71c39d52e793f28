"""Rows of `inbox`: updates between their arrival and their end. Steps inside a transaction of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from keepsake.store import users

_BOT = "telegram_bot"  # in `meta`
FILED = ""  # the payload of an update whose contents stand in a file (keepsake.store.in_flight)


@dataclass(frozen=True, slots=True)
class Arrived:
    """An update as it came. `chat_id` and `thread_id` say in which lane it waits."""

    update_id: int
    chat_id: int | None
    thread_id: int | None
    user_id: int | None
    payload: str


@dataclass(frozen=True, slots=True)
class Undone:
    """An update that waits for its turn, without its contents. `filed`: they are not in memory.db."""

    update_id: int
    chat_id: int | None
    thread_id: int | None
    filed: bool = False


def begin(connection: sqlite3.Connection, bot: str) -> None:
    """Empties inbox and outbox where they are another bot's. `bot`: whose they are from now on."""
    if users.get_meta(connection, _BOT) not in (None, bot):
        connection.execute("DELETE FROM inbox")
        connection.execute("DELETE FROM outbox")
    users.set_meta(connection, _BOT, bot)


def put(connection: sqlite3.Connection, updates: Iterable[Arrived], now: int) -> list[Undone]:
    """Stores updates. Returns those that were not here yet, in the order given."""
    new = []
    for update in updates:
        stored = connection.execute(
            "INSERT INTO inbox (update_id, chat_id, thread_id, user_id, payload, received_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (update.update_id, update.chat_id, update.thread_id, update.user_id, update.payload, now),
        ).rowcount
        if stored:
            filed = update.payload == FILED
            new.append(Undone(update.update_id, update.chat_id, update.thread_id, filed))
    return new


def undone(connection: sqlite3.Connection) -> list[Undone]:
    """All that is not done, in the order of arrival."""
    rows = connection.execute(
        "SELECT update_id, chat_id, thread_id, payload = ? FROM inbox WHERE done_at IS NULL ORDER BY update_id",
        (FILED,),
    )
    return [Undone(update, chat, thread, bool(filed)) for update, chat, thread, filed in rows]


def filed_of(connection: sqlite3.Connection, user_id: int) -> list[int]:
    """A person's updates whose contents stand in files."""
    rows = connection.execute(
        "SELECT update_id FROM inbox WHERE user_id = ? AND payload = ?", (user_id, FILED)
    )
    return [row[0] for row in rows]


def payload(connection: sqlite3.Connection, update_id: int) -> str | None:
    """The update as it came; None where it is done or gone."""
    row = connection.execute(
        "SELECT payload FROM inbox WHERE update_id = ? AND done_at IS NULL", (update_id,)
    ).fetchone()
    return row[0] if row else None


def finish(connection: sqlite3.Connection, update_id: int, now: int) -> None:
    """Done: its contents go, its number stays, so that it is not taken for new when it comes again."""
    connection.execute("UPDATE inbox SET payload = NULL, done_at = ? WHERE update_id = ?", (now, update_id))


def drop_done_before(connection: sqlite3.Connection, moment: int) -> None:
    """Numbers that Telegram cannot send again any more."""
    connection.execute("DELETE FROM inbox WHERE done_at < ?", (moment,))
