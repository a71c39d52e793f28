"""SQLiteMemoryStorage: the truth about every user, as coroutines over one `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from keepsake.clock import Clock, system_clock, to_micros
from keepsake.models import AnswerEvent, DialogSession, Fact, FactChange, Memories, Message, Reason
from keepsake.store import archive, embeddings, events, facts, history, jobs, messages, summaries, users
from keepsake.store.database import Database
from keepsake.store.jobs import EMBED, EXPIRE, EXTRACT, IDLE, SUMMARISE
from keepsake.store.messages import NewMessage
from keepsake.store.summaries import Compaction

OWNER = "owner"

Analyse = Callable[[str], Sequence[str]]
Urgent = Callable[[str], bool]
Also = Callable[[sqlite3.Connection, Message], object]  # a further step of a message's transaction


class SQLiteMemoryStorage:
    """Messages, sessions, facts and events of every user in one memory.db.

    `analyse` turns a text into the terms of the keyword index; it runs on the database's thread. So does `urgent`,
    which says of a message whether facts are drawn from it at once. They are also drawn after `extraction_every`
    messages of the user's, and `extraction_idle` after the last one.
    """

    def __init__(
        self,
        database: Database,
        *,
        analyse: Analyse,
        session_gap: timedelta = timedelta(minutes=30),
        extraction_every: int = 5,
        extraction_idle: timedelta = timedelta(minutes=5),
        urgent: Urgent = lambda _text: False,
        with_vectors: bool = True,
        compaction: Compaction | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self.database = database
        self._analyse = analyse
        self._gap = session_gap // timedelta(microseconds=1)
        self._extraction_every = extraction_every
        # A session that ends sooner than that is over then.
        self._idle = min(extraction_idle, session_gap) // timedelta(microseconds=1)
        self._urgent = urgent
        self._with_vectors = with_vectors
        self._compaction = compaction
        self._clock = clock

    @classmethod
    async def open(cls, path: Path, *, analyse: Analyse, **options: object) -> SQLiteMemoryStorage:
        """Opens or makes memory.db at `path`. Raises DatabaseError."""
        return cls(await Database.open(path), analyse=analyse, **options)  # type: ignore[arg-type]

    async def close(self) -> None:
        await self.database.close()

    def now(self) -> datetime:
        return self._clock()

    def now_micros(self) -> int:
        return to_micros(self._clock())

    async def save_message(self, new: NewMessage, also: Also | None = None) -> Message:
        """Stores a message and, in the same transaction, the background work it asks for and what `also` does.

        Where a message with its key is here already, that one is returned and nothing is done.
        """
        return await self.database.write(self._save_message, new, also)

    def _save_message(
        self, connection: sqlite3.Connection, new: NewMessage, also: Also | None = None
    ) -> Message:
        if new.key is not None and (held := messages.by_key(connection, new.user_id, new.key)) is not None:
            return held
        if new.key is not None and (gone := archive.by_key(connection, new.user_id, new.key)) is not None:
            return Message(
                gone, new.user_id, new.role, new.content, new.created_at, 0, new.sender, new.sender_id
            )
        now = self.now_micros()
        users.ensure(connection, new.user_id, now)
        message = messages.insert(connection, new, self._analyse(new.content), self._gap)
        key = str(new.user_id)
        if self._with_vectors:
            embeddings.queue(connection, new.user_id, "message", message.id)
            jobs.enqueue(connection, EMBED, key, now, user_id=new.user_id)
        if new.role == "user":
            self._plan_extraction(connection, new.user_id, now, urgent=self._urgent(new.content))
        if self._compaction is not None and summaries.plan(connection, new.user_id, self._compaction):
            jobs.enqueue(connection, SUMMARISE, key, now, user_id=new.user_id)
        if also is not None:
            also(connection, message)
        return message

    async def save_answer(
        self, question_id: int, new: NewMessage, also: Also | None = None
    ) -> Message | None:
        """Stores what answers a message, beside it; None where the question is gone: the person was erased."""
        return await self.database.write(self._save_answer, question_id, new, also)

    def _save_answer(
        self, connection: sqlite3.Connection, question_id: int, new: NewMessage, also: Also | None
    ) -> Message | None:
        if not messages.by_ids(connection, new.user_id, [question_id]):
            return None
        return self._save_message(connection, new, also)

    async def edit_message(
        self, user_id: int, key: str, text: str, also: Also | None = None
    ) -> Message | None:
        """Gives the message with this key another text; its vector is made anew. None where there is none here.

        One that is archived gets it in the background. `also` is run in the same transaction where the text is another.
        """
        return await self.database.write(self._edit_message, user_id, key, text, also)

    def _edit_message(
        self, connection: sqlite3.Connection, user_id: int, key: str, text: str, also: Also | None
    ) -> Message | None:
        old = messages.by_key(connection, user_id, key)
        if old is None and (gone := archive.by_key(connection, user_id, key)) is not None:
            archive.wish(connection, user_id, {gone: text}, self.now_micros())
        if old is None or old.content == text:
            return old
        messages.replace_text(connection, old, text, self._analyse(text))
        embeddings.delete_one(connection, user_id, "message", old.id)
        if self._with_vectors:
            embeddings.queue(connection, user_id, "message", old.id)
            jobs.enqueue(connection, EMBED, str(user_id), self.now_micros(), user_id=user_id)
        edited = replace(old, content=text)
        if also is not None:
            also(connection, edited)
        return edited

    def _plan_extraction(
        self, connection: sqlite3.Connection, user_id: int, now: int, *, urgent: bool = False
    ) -> None:
        """Has facts drawn now where it is time (F2), else when the user has been quiet for a while."""
        key = str(user_id)
        if urgent or self._extraction_is_due(connection, user_id):
            jobs.enqueue(connection, EXTRACT, key, now, user_id=user_id)
        else:
            jobs.put_off(connection, IDLE, key, now, user_id=user_id, run_after=now + self._idle)

    def extract_what_is_left(self, connection: sqlite3.Connection, user_id: int) -> None:
        """Has facts drawn from what is unread, if anything is."""
        if messages.count_user_after(connection, user_id, facts.cursor(connection, user_id), 1):
            jobs.enqueue(connection, EXTRACT, str(user_id), self.now_micros(), user_id=user_id)

    def _extraction_is_due(self, connection: sqlite3.Connection, user_id: int) -> bool:
        cursor, enough = facts.cursor(connection, user_id), self._extraction_every
        return messages.count_user_after(connection, user_id, cursor, enough) >= enough

    async def last_messages(self, user_id: int, limit: int, before: int | None = None) -> list[Message]:
        """The newest `limit` messages, oldest first; with `before`, only those with a smaller id."""
        return await self.database.read(messages.last, user_id, limit, before)

    async def messages(self, user_id: int, ids: Sequence[int]) -> list[Message]:
        """Those of the messages that are the user's, in the order of `ids`."""
        held = await self.database.read(messages.by_ids, user_id, ids)
        return [held[one] for one in ids if one in held]

    async def unread_user_messages(self, user_id: int) -> int:
        """How many of the user's own messages extraction has not read yet."""
        return await self.database.read(
            lambda connection: messages.count_user_after(
                connection, user_id, facts.cursor(connection, user_id)
            )
        )

    async def sessions(self, user_id: int) -> list[DialogSession]:
        """The user's sessions, oldest first."""
        return await self.database.read(messages.sessions, user_id)

    async def facts(self, user_id: int, *, all_statuses: bool = False) -> list[Fact]:
        """The user's facts, oldest first; only active ones unless `all_statuses`."""
        return await self.database.read(facts.of_user, user_id, all_statuses=all_statuses)

    async def fact_history(self, user_id: int) -> list[FactChange]:
        """What happened to the user's facts, oldest first."""
        return await self.database.read(history.of_user, user_id)

    async def extraction_window(self, user_id: int, size: int) -> tuple[list[Message], int | None]:
        """The messages to extract facts from, and the id of the last unread one (None: nothing is unread).

        At most `size`: the unread ones, before them as many of those read already as there is room for.
        """
        return await self.database.read(_extraction_window, user_id, size)

    async def window_of(self, user_id: int, message_id: int, before: int) -> list[Message]:
        """A message led by as many as `before` of those before it; nothing where it is gone."""
        return await self.database.read(_window_of, user_id, message_id, before)

    def queue_facts(self, connection: sqlite3.Connection, user_id: int, stored: Sequence[int]) -> None:
        """Has new facts embedded, and ended when their day is over: a step of the transaction that stores them."""
        now = self.now_micros()
        if stored and self._with_vectors:
            for fact_id in stored:
                embeddings.queue(connection, user_id, "fact", fact_id)
            jobs.enqueue(connection, EMBED, str(user_id), now, user_id=user_id)
        for fact in facts.by_ids(connection, user_id, stored):
            if fact.ends is not None:
                after = to_micros(fact.ends)
                jobs.enqueue(connection, EXPIRE, str(after), now, run_after=max(after, now))

    def end_extraction(self, connection: sqlite3.Connection, user_id: int, read_to: int) -> None:
        """Moves the cursor in the transaction that stores the facts: a crash repeats the work, never doubles it."""
        facts.move_cursor(connection, user_id, read_to)
        if messages.count_user_after(connection, user_id, facts.cursor(connection, user_id), 1):
            self._plan_extraction(connection, user_id, self.now_micros())

    async def record_answer(self, event: AnswerEvent) -> None:
        """Keeps what an answer cost, and counts a hit for each fact it was given, unless the question is gone."""
        await self.database.write(self._record_answer, event)

    def _record_answer(self, connection: sqlite3.Connection, event: AnswerEvent) -> None:
        now = self.now_micros()
        if event.question_id is not None:
            if not messages.by_ids(connection, event.user_id, [event.question_id]):
                return
        else:
            users.ensure(connection, event.user_id, now)
        events.insert(connection, event, now)
        if event.error is None:
            facts.add_hits(
                connection, event.user_id, [item for kind, item, _ in event.memories if kind == "fact"], now
            )

    async def why(self, user_id: int, memories: Memories | None = None) -> list[Reason] | None:
        """What the user's last answer was given from memory, best first; None where there was no answer.

        `memories`: what an answer was given that is not kept itself.
        """
        # Among the writes, behind the one that notes that answer: a reader could still miss it.
        return await self.database.write(_reasons, user_id, memories)

    async def counts(self, user_id: int) -> dict[str, int]:
        return await self.database.read(messages.counts, user_id)

    async def totals(self) -> dict[str, int]:
        """People, messages and facts of the whole bot."""
        return await self.database.read(messages.totals)

    async def language(self, user_id: int) -> str | None:
        """The language the user has chosen, None where none was."""
        return await self.database.read(users.language, user_id)

    async def set_language(self, user_id: int, language: str) -> None:
        await self.database.write(users.set_language, user_id, language, self.now_micros())

    async def owner(self) -> int | None:
        """Who claimed the bot with the one-time code."""
        value = await self.database.read(users.get_meta, OWNER)
        return int(value) if value is not None else None

    async def set_owner(self, user_id: int) -> None:
        await self.database.write(users.set_meta, OWNER, str(user_id))


def _reasons(connection: sqlite3.Connection, user_id: int, memories: Memories | None) -> list[Reason] | None:
    given = events.last_memories(connection, user_id) if memories is None else memories
    if given is None:
        return None
    reasons = []
    for kind, item, score in sorted(given, key=lambda memory: -memory[2]):
        fact = next(iter(facts.by_ids(connection, user_id, [item])), None) if kind == "fact" else None
        if fact is None and kind == "fact":
            continue
        wanted = fact.message_ids if fact else [item]
        sources = messages.by_ids(connection, user_id, wanted)
        archived = tuple(archive.sources(connection, user_id, wanted))
        if fact or sources or archived:
            reasons.append(Reason(score, fact, tuple(sources[one] for one in sorted(sources)), archived))
    return reasons


def _window_of(connection: sqlite3.Connection, user_id: int, message_id: int, before: int) -> list[Message]:
    found = messages.by_ids(connection, user_id, [message_id])
    return [*messages.last(connection, user_id, before, before=message_id), *found.values()] if found else []


def _extraction_window(
    connection: sqlite3.Connection, user_id: int, size: int
) -> tuple[list[Message], int | None]:
    unread = messages.after(connection, user_id, facts.cursor(connection, user_id), size)
    if not unread:
        return [], None
    read = messages.last(connection, user_id, size - len(unread), before=unread[0].id)
    return read + unread, unread[-1].id
