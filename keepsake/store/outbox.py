"""Rows of `outbox`: what is sent, before and after. Steps inside a transaction of `Database`.

A row is `waiting` until it is tried, `sending` from just before the call, then `sent`, `refused`, or `lost`: it may
have arrived, and is not sent again. One that a killed process left as `sending` may have arrived as well; it is
sent once more, since silence is worse than an answer twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["waiting", "sending", "sent", "lost", "refused"]

PREVIEW, NOTE, REPLY, ANSWER = "preview", "note", "reply", "answer"  # what letters' names begin with

IN_RAM = ""  # the payload of a letter that is not to be kept

_COLUMNS = "id, update_id, name, user_id, chat_id, thread_id, payload, telegram_id"


@dataclass(frozen=True, slots=True)
class Letter:
    """One message to be sent. `payload`: JSON; `telegram_id`: where it changes a message that was sent before."""

    id: int
    update_id: int
    name: str
    user_id: int
    chat_id: int
    thread_id: int | None
    payload: str
    telegram_id: int | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Where the messages for one update go. `private`: what they say is not to be kept."""

    update_id: int
    user_id: int
    chat_id: int
    thread_id: int | None = None
    private: bool = False


def put(
    connection: sqlite3.Connection,
    to: Address,
    letters: Iterable[tuple[str, str]],
    now: int,
    *,
    message_id: int | None = None,
    replaces: int | None = None,
) -> None:
    """Adds letters, each a name and a payload. One whose name is there already stays as it is.

    Nothing is added where the update is done: its person was erased meanwhile.

    `message_id`: the message in memory that they show. The first of them takes the place of a preview, if one was
    sent: it changes that message. `replaces`: Telegram's number of a message that it changes.
    """
    telegram_id = replaces
    if message_id is not None:
        telegram_id = preview_of(connection, to.update_id)
        connection.execute(
            "UPDATE outbox SET state = 'lost', payload = NULL"
            " WHERE update_id = ? AND name = ? AND state IN ('waiting', 'sending')",
            (to.update_id, PREVIEW),
        )
    for name, payload in letters:
        connection.execute(
            "INSERT INTO outbox (update_id, name, user_id, chat_id, thread_id, payload, message_id, telegram_id,"
            " created_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9"
            " WHERE EXISTS (SELECT 1 FROM inbox WHERE update_id = ?1 AND done_at IS NULL) ON CONFLICT DO NOTHING",
            (
                *(to.update_id, name, to.user_id, to.chat_id, to.thread_id),
                *(payload, message_id, telegram_id, now),
            ),
        )
        telegram_id = None


def preview_of(connection: sqlite3.Connection, update_id: int) -> int | None:
    """Telegram's number of the message in which the answer is shown as it grows."""
    row = connection.execute(
        "SELECT telegram_id FROM outbox WHERE update_id = ? AND name = ?", (update_id, PREVIEW)
    ).fetchone()
    return row[0] if row else None


def shown(connection: sqlite3.Connection, user_id: int, chat_id: int, telegram_id: int) -> int | None:
    """The message in memory that a message of ours in a chat shows."""
    row = connection.execute(
        "SELECT message_id FROM outbox WHERE user_id = ? AND chat_id = ? AND telegram_id = ?"
        " AND message_id IS NOT NULL ORDER BY id DESC LIMIT 1",
        (user_id, chat_id, telegram_id),
    ).fetchone()
    return row[0] if row else None


def is_answered(connection: sqlite3.Connection, update_id: int) -> bool:
    """Does the outbox hold an answer to the update, sent or not? Then only sending is left to do."""
    row = connection.execute(
        "SELECT 1 FROM outbox WHERE update_id = ? AND name <> ? AND name NOT LIKE ? LIMIT 1",
        (update_id, PREVIEW, f"{NOTE}%"),
    ).fetchone()
    return row is not None


def to_send(connection: sqlite3.Connection, update_id: int) -> list[Letter]:
    """The update's letters that are not yet settled, in order."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM outbox WHERE update_id = ? AND state IN ('waiting', 'sending') ORDER BY id",
        (update_id,),
    )
    return [Letter(*row) for row in rows]


def mark(
    connection: sqlite3.Connection, letter_id: int, state: State, telegram_id: int | None = None
) -> bool:
    """Notes how far a letter is; False where it is gone. What is settled keeps no contents."""
    changed = connection.execute(
        "UPDATE outbox SET state = :state, telegram_id = coalesce(:telegram, telegram_id),"
        " payload = CASE WHEN :state IN ('waiting', 'sending') THEN payload END WHERE id = :id",
        {"state": state, "telegram": telegram_id, "id": letter_id},
    )
    return changed.rowcount > 0


def drop_unsendable(connection: sqlite3.Connection) -> None:
    """Letters whose contents went with the process that held them: what they answer is handled again."""
    connection.execute("DELETE FROM outbox WHERE payload = ?", (IN_RAM,))


def drop_settled_before(connection: sqlite3.Connection, moment: int) -> None:
    """Numbers of messages that show nothing that memory holds are of no use later."""
    connection.execute(
        "DELETE FROM outbox WHERE message_id IS NULL AND created_at < ? AND state NOT IN ('waiting', 'sending')",
        (moment,),
    )
