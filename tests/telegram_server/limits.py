"""How fast a bot may send (core.telegram.org/bots/faq, "My bot is hitting limits")."""

from __future__ import annotations

import math
from collections import deque

from tests.telegram_server.rules import RefusedError

CHAT_SECONDS = 1.0
CHAT_EARLY_SECONDS = 0.05  # how much too early one message may come; it does not add up over several
GROUP_MESSAGES, GROUP_SECONDS = 20, 60.0
ALL_MESSAGES, ALL_SECONDS = 33, 1.0  # 30, and the tenth that is let pass


class SendingLimits:
    """Counts what was let pass. Times are in seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, str], float] = {}
        self._groups: dict[int, deque[float]] = {}
        self._all: deque[float] = deque(maxlen=ALL_MESSAGES)

    def admit(self, method: str, chat_id: int, now: float) -> None:
        """Counts a call that sends or edits. Raises RefusedError with status 429 where it came too soon.

        Groups, whose ids are negative, count both together; private chats count each by itself.
        """
        key = (chat_id, method if chat_id > 0 else "")
        due = self._next.get(key, now)
        wait = due - now if due - now > CHAT_EARLY_SECONDS else 0.0
        wait = max(wait, _until_free(self._all, ALL_SECONDS, now))
        window = self._groups.setdefault(chat_id, deque(maxlen=GROUP_MESSAGES))
        if chat_id < 0:
            wait = max(wait, _until_free(window, GROUP_SECONDS, now))
        if wait > 0:
            seconds = math.ceil(wait)
            raise RefusedError(429, f"Too Many Requests: retry after {seconds}", seconds)
        self._next[key] = max(due, now) + CHAT_SECONDS
        window.append(now)
        self._all.append(now)


def _until_free(window: deque[float], seconds: float, now: float) -> float:
    return window[0] + seconds - now if len(window) == window.maxlen else 0.0
