"""Which messages stand beside which, within their sessions. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

REACH = 3  # messages on each side that have to be known: a neighbour is weighed by its own neighbours

_BEST = 3  # of a session


class Placed(Protocol):
    """A message and its session."""

    @property
    def id(self) -> int: ...

    @property
    def session_id(self) -> int: ...


class Neighbours:
    """The order of messages as far as windows around some of them tell it."""

    def __init__(self, windows: Iterable[Sequence[Placed]] = ()) -> None:
        self._session: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._after: dict[int, int] = {}
        self.add(windows)

    def add(self, windows: Iterable[Sequence[Placed]]) -> None:
        """`windows`: messages that follow each other, ascending."""
        for window in windows:
            for one in window:
                self._session[one.id] = one.session_id
            for first, second in pairwise(window):
                if first.session_id == second.session_id:
                    self._before[second.id], self._after[first.id] = first.id, second.id

    def beside(self, message_id: int) -> list[int]:
        """The messages next to it."""
        return [found for side in (self._before, self._after) if (found := side.get(message_id)) is not None]

    def near(self, message_id: int) -> list[int]:
        """The messages that are two away."""
        found = []
        for side in (self._before, self._after):
            next_one = side.get(message_id)
            if next_one is not None and next_one in side:
                found.append(side[next_one])
        return found

    def session_scores(self, scores: Mapping[int, float]) -> dict[int, float]:
        """For each session the mean of its three best; one that has fewer counts the others as 0."""
        of_session: dict[int, list[float]] = defaultdict(list)
        for message_id, score in scores.items():
            if message_id in self._session:
                of_session[self._session[message_id]].append(score)
        return {session: sum(sorted(found)[-_BEST:]) / _BEST for session, found in of_session.items()}

    def session(self, message_id: int) -> int:
        """Its session; -1 where it is not known."""
        return self._session.get(message_id, -1)
