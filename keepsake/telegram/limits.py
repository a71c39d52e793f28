"""How fast Telegram may be talked to: its own limits, kept before it has to say so.

One message a second in a chat, 20 a minute in a group, 30 a second over all
(core.telegram.org/bots/faq, "My bot is hitting limits").
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

CHAT_SECONDS = 1.0
GROUP_MESSAGES, GROUP_SECONDS = 20, 60.0
ALL_MESSAGES, ALL_SECONDS = 30, 1.0
_A_MOMENT = 0.05  # where only calls in flight are in the way
_KEPT_CHATS = 10_000  # how many chats' times are held before old ones are looked through


class Limits:
    """Gives turns to send. Groups have negative ids, as in Telegram. Times are in seconds of `clock`.

    A message arrives some time between its turn and the end of the call, so a turn is held until `done` and counts
    from then on: whenever it arrived, no window of Telegram's holds too many.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # A process that was here a moment ago may have sent to any of the chats.
        self._begin = clock() + CHAT_SECONDS
        self._next: dict[int, float] = {}
        self._groups: dict[int, deque[float]] = {}
        self._all: deque[float] = deque()
        self._flying = 0

    async def turn(self, chat_id: int) -> None:
        """Returns when a message may be sent to the chat; `done` gives the turn back."""
        while (wait := self.reserve(chat_id)) > 0:  # noqa: ASYNC110 - time is all there is to wait for
            await asyncio.sleep(wait)

    def reserve(self, chat_id: int) -> float:
        """Takes a turn, where one is free (0), else says after how many seconds to ask again."""
        now = self._clock()
        wait = max(self._next.get(chat_id, now), self._begin) - now
        _drop_until(self._all, now - ALL_SECONDS)
        if len(self._all) + self._flying >= ALL_MESSAGES:
            wait = max(wait, self._all[0] + ALL_SECONDS - now if self._all else _A_MOMENT)
        if chat_id < 0:
            window = self._groups.setdefault(chat_id, deque())
            _drop_until(window, now - GROUP_SECONDS)
            if len(window) >= GROUP_MESSAGES:
                wait = max(wait, window[0] + GROUP_SECONDS - now)
        if wait > 0:
            return wait
        self._flying += 1
        return 0.0

    def done(self, chat_id: int) -> None:
        """The call has ended, however."""
        now = self._clock()
        self._flying -= 1
        self._all.append(now)
        if chat_id < 0:
            self._groups.setdefault(chat_id, deque()).append(now)
        self._hold(chat_id, now + CHAT_SECONDS)

    def pause(self, chat_id: int, seconds: float) -> None:
        """Telegram has said how long this chat is to be left alone."""
        self._hold(chat_id, self._clock() + seconds)

    def is_paused(self, chat_id: int) -> bool:
        """Was a pause asked for that is longer than what is between two messages?"""
        return self._next.get(chat_id, 0.0) - self._clock() > CHAT_SECONDS

    def _hold(self, chat_id: int, until: float) -> None:
        self._next[chat_id] = max(until, self._next.get(chat_id, 0.0))
        if len(self._next) > _KEPT_CHATS:
            now = self._clock()
            self._next = {chat: at for chat, at in self._next.items() if at > now}
            self._groups = {
                chat: times
                for chat, times in self._groups.items()
                if times and times[-1] > now - GROUP_SECONDS
            }


def _drop_until(times: deque[float], moment: float) -> None:
    while times and times[0] <= moment:
        times.popleft()
