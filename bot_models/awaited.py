"""Whose next message is the new wording of a fact: in RAM, for a while."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

PATIENCE = timedelta(minutes=10)
MAX_AWAITED = 1000


@dataclass(frozen=True, slots=True)
class _Wish:
    fact_id: int
    until: datetime


class Awaited:
    """By person and chat, the fact that the next message is to correct. The oldest leaves where there are too many."""

    def __init__(self, most: int = MAX_AWAITED) -> None:
        self._most = most
        self._held: OrderedDict[tuple[int, str], _Wish] = OrderedDict()

    def expect(self, user_id: int, place: str, fact_id: int, now: datetime) -> None:
        """The next message there is the wording of this fact, if it comes within `PATIENCE`."""
        self._held.pop((user_id, place), None)
        self._held[user_id, place] = _Wish(fact_id, now + PATIENCE)
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    def take(self, user_id: int, place: str, now: datetime) -> int | None:
        """The fact that is waited for, which is not any more then; None where there is none or it is too late."""
        wish = self._held.pop((user_id, place), None)
        return wish.fact_id if wish is not None and now <= wish.until else None

    def forget(self, user_id: int) -> None:
        """Waits for nothing of the user's."""
        for key in [key for key in self._held if key[0] == user_id]:
            del self._held[key]
