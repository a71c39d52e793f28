"""What is said while nothing is to be kept: in a pause, or in a conversation incognito.

That somebody has asked for it stands in memory.db, so that a restart does not end it unseen. What they say stands in
RAM alone, and goes when it is over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from keepsake.clock import Clock, system_clock, to_micros
from keepsake.models import Memories, Message, Role
from keepsake.store import privacy as rows
from keepsake.store.database import Database
from keepsake.store.privacy import Asked

Mode = Literal["paused", "incognito"]

# Ids of what is in RAM only are above all that memory.db gives, so that it counts as the newest.
_FIRST_ID = 2**62
_LINES_MAX = 100  # far more than any context shows


@dataclass(slots=True)
class Session:
    """What was said in one pause or conversation, and what the last answer in it was given from memory.

    `told`: the person knows that nothing is kept. `quiet_since`: when somebody last spoke.
    """

    mode: Mode
    quiet_since: datetime
    told: bool = False
    said: deque[Message] = field(default_factory=lambda: deque(maxlen=_LINES_MAX))
    memories: Memories | None = None
    _next_id: int = _FIRST_ID

    def add(
        self,
        user_id: int,
        role: Role,
        text: str,
        now: datetime,
        sender: str | None = None,
        sender_id: str | None = None,
    ) -> Message:
        """One more line; the message has an id of no message that is kept."""
        message = Message(self._next_id, user_id, role, text, now, 0, sender, sender_id)
        self._next_id += 1
        self.said.append(message)
        self.quiet_since = now
        return message


class Privacy:
    """Who speaks without anything being kept, and what was said so. `gap` of silence ends a conversation incognito.

    `database` None: what is asked for does not outlive this object.
    """

    def __init__(
        self,
        database: Database | None = None,
        *,
        gap: timedelta = timedelta(minutes=30),
        clock: Clock = system_clock,
    ) -> None:
        self._database = database
        self._gap = gap
        self._clock = clock
        self._asked: dict[int, Asked] = {}
        self._sessions: dict[tuple[int, Mode], Session] = {}
        self._over_at: dict[int, datetime] = {}
        self._writing = asyncio.Lock()

    async def load(self) -> None:
        """Reads who had asked before the start."""
        if self._database is not None:
            self._asked = await self._database.read(rows.read)

    def mode(self, user_id: int) -> Mode | None:
        """What the person has asked for; None where everything is kept."""
        asked = self._asked.get(user_id, Asked())
        return "incognito" if asked.incognito else "paused" if asked.paused else None

    def is_paused(self, user_id: int) -> bool:
        """Also where a conversation incognito stands in front of the pause."""
        return self._asked.get(user_id, Asked()).paused

    def ever(self, user_id: int) -> bool:
        """Has the person ever asked? Then what comes from them may quote what was not to be kept."""
        return user_id in self._asked

    def session(self, user_id: int) -> Session | None:
        """What was said since nothing is kept; None where everything is.

        A pause that a restart has cut begins anew in RAM; a conversation incognito does not: see `is_over`.
        """
        self._drop_what_is_over()
        mode = self.mode(user_id)
        if mode is None:
            return None
        if (user_id, mode) not in self._sessions and mode == "paused":
            self._sessions[user_id, mode] = Session(mode, self._clock())
        return self._sessions.get((user_id, mode))

    def is_over(self, user_id: int) -> bool:
        """Has a conversation incognito ended by itself, by silence or by a restart, without the person knowing?"""
        self._drop_what_is_over()
        return self.mode(user_id) == "incognito" and (user_id, "incognito") not in self._sessions

    def covers(self, user_id: int, said_at: datetime | None) -> bool:
        """Is a message of that time not to be kept? So are those that came before anybody knew of an end by itself."""
        over_at = self._over_at.get(user_id)
        unaware = over_at is not None and said_at is not None and said_at <= over_at
        return unaware or self.mode(user_id) is not None

    async def tell_of_end(self, user_id: int) -> None:
        """A conversation incognito has ended by itself, and the person is told so now."""
        self._over_at[user_id] = self._clock()
        if self.mode(user_id) == "incognito":
            await self.end_incognito(user_id)

    async def pause(self, user_id: int) -> None:
        """From now on nothing of this person is kept. What was said in an earlier pause is forgotten."""
        await self._ask(user_id, paused=True)
        self._sessions[user_id, "paused"] = Session("paused", self._clock(), told=True)

    async def resume(self, user_id: int) -> None:
        """From now on everything is kept again, also where a conversation was incognito."""
        await self._ask(user_id, paused=False, incognito=False)
        self._drop(user_id, "paused", "incognito")

    async def begin_incognito(self, user_id: int) -> None:
        """A new conversation of which nothing is kept, and for which nothing is remembered."""
        await self._ask(user_id, incognito=True)
        self._sessions[user_id, "incognito"] = Session("incognito", self._clock(), told=True)

    async def end_incognito(self, user_id: int) -> None:
        """A pause that was there before goes on."""
        await self._ask(user_id, incognito=False)
        self._drop(user_id, "incognito")

    def forget(self, user_id: int) -> None:
        """Drops all that RAM holds of the person; the rows go with the erasure."""
        self._asked.pop(user_id, None)
        self._over_at.pop(user_id, None)
        self._drop(user_id, "paused", "incognito")

    def _drop_what_is_over(self) -> None:
        """Conversations that silence has ended leave RAM, whoever's they are."""
        now = self._clock()
        for (user_id, mode), session in list(self._sessions.items()):
            if mode == "incognito" and now - session.quiet_since > self._gap:
                self._drop(user_id, mode)

    def _drop(self, user_id: int, *modes: Mode) -> None:
        for mode in modes:
            self._sessions.pop((user_id, mode), None)

    async def _ask(self, user_id: int, **changes: bool) -> None:
        async with self._writing:
            asked = replace(self._asked.get(user_id, Asked()), **changes)
            if self._database is not None:
                now = to_micros(self._clock())
                await self._database.write(partial(rows.write, user_id=user_id, asked=asked, now=now))
            self._asked[user_id] = asked
