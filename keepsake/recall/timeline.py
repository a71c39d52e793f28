"""The order of one user's messages, and what can be said of each without reading it.

It stands in RAM while the user talks: what is weighed about a message's neighbours then costs no reading. It holds no
text but the names of those who spoke.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keepsake.recall.ranking import lengths_of

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
Float = NDArray[np.float64]

CACHED_BYTES = 16_000_000  # of all users together: 300,000 messages and more
NOBODY = -1

_ROW = np.dtype(
    [
        ("id", np.int64),
        ("session", np.int64),
        ("created", np.int64),
        ("length", np.float32),
        ("speaker", np.int32),
        ("by_user", np.bool_),
        ("asks", np.bool_),
    ]
)

# id, session, created (microseconds), size in bytes, sender, said by the user, ends in a question mark
Glance = tuple[int, int, int, int, str | None, bool, bool]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A user's messages, oldest first, as columns (n,). `speaker`: a place in `names`, or NOBODY."""

    rows: NDArray[np.void] = field(default_factory=lambda: np.empty(0, _ROW))
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Int64:
        return self.rows["id"]

    @property
    def last_id(self) -> int:
        return int(self.rows["id"][-1]) if len(self.rows) else 0

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes) + sum(map(len, self.names)) + 200

    def find(self, ids: Sequence[int] | Int64) -> tuple[Int64, Bools]:
        """Where these messages (m,) stand, and which of them are here at all."""
        wanted = np.asarray(ids, dtype=np.int64)
        if not len(self.rows):
            return np.zeros_like(wanted), np.zeros(len(wanted), dtype=np.bool_)
        found = np.minimum(np.searchsorted(self.ids, wanted), len(self.rows) - 1)
        return found, self.ids[found] == wanted

    def places(self, ids: Iterable[int]) -> Int64:
        """Where those of these messages stand that are here."""
        found, here = self.find(list(ids))
        return found[here]

    def beside(self, places: Int64, steps: int) -> tuple[Int64, Bools]:
        """The places so many steps after these (before, where negative), and which of them are of the same session."""
        there = places + steps
        inside = (there >= 0) & (there < len(self.rows))
        there = np.where(inside, there, places)
        session = self.rows["session"]
        return there, inside & (session[there] == session[places])

    def sessions(self, places: Int64) -> tuple[Int64, Int64]:
        """Where the sessions of these places begin and end, half-open. Nothing interrupts a session."""
        edges = np.concatenate([[0], np.flatnonzero(np.diff(self.rows["session"])) + 1, [len(self.rows)]])
        after = np.searchsorted(edges, places, side="right")
        return edges[after - 1], edges[after]

    def with_neighbours(self, places: Int64) -> Int64:
        """These places and those next to them within their sessions, ascending."""
        found = [places]
        for step in (-1, 1):
            there, same = self.beside(places, step)
            found.append(there[same])
        return np.unique(np.concatenate(found))

    def said_in(self, periods: Iterable[tuple[int, int]]) -> Bools:
        """Which messages (n,) were said in one of these stretches of time, half-open, in microseconds."""
        said = np.zeros(len(self.rows), dtype=np.bool_)
        for start, end in periods:
            said |= (self.rows["created"] >= start) & (self.rows["created"] < end)
        return said

    def said_by(self, names: Iterable[str]) -> Bools:
        """Which messages (n,) these people said."""
        wanted = [place for place, name in enumerate(self.names) if name in set(names)]
        return np.isin(self.rows["speaker"], wanted)

    def extended(self, glances: Sequence[Glance]) -> Timeline:
        """With later messages, oldest first."""
        if not glances:
            return self
        ids, sessions, created, sizes, senders, by_user, asks = zip(*glances, strict=True)
        names = dict.fromkeys([*self.names, *(sender for sender in senders if sender is not None)])
        numbers = {name: place for place, name in enumerate(names)}
        rows = np.empty(len(glances), _ROW)
        rows["id"], rows["session"], rows["created"] = ids, sessions, created
        rows["length"] = lengths_of(np.array(sizes))
        rows["speaker"] = [NOBODY if sender is None else numbers[sender] for sender in senders]
        rows["by_user"], rows["asks"] = by_user, asks
        return Timeline(np.concatenate([self.rows, rows]), tuple(names))


class Timelines:
    """Users' timelines, the least recently used leave. `read(user_id, after)` gives what came after an id."""

    def __init__(self, most_bytes: int = CACHED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[int, Timeline] = OrderedDict()
        self._bytes = 0
        self._drops = 0

    def current(self, user_id: int, count: int, read: Callable[[int, int], Sequence[Glance]]) -> Timeline:
        """The user's timeline with all `count` messages; where it does not have so many it is read anew.

        An edit leaves its message's length as it was, until the user's timeline is read again.
        """
        before = self._drops
        held = self._held.get(user_id, Timeline())
        timeline = held.extended(read(user_id, held.last_id))
        if len(timeline) != count and len(held):  # one was erased meanwhile
            timeline = Timeline().extended(read(user_id, 0))
        if before == self._drops:
            self._keep(user_id, timeline)
        return timeline

    def drop(self, user_id: int) -> None:
        """Forgets a user; a timeline that is just being read is not kept."""
        self._drops += 1
        held = self._held.pop(user_id, None)
        if held is not None:
            self._bytes -= held.nbytes

    def _keep(self, user_id: int, timeline: Timeline) -> None:
        old = self._held.pop(user_id, None)
        self._bytes += timeline.nbytes - (old.nbytes if old is not None else 0)
        self._held[user_id] = timeline
        while self._bytes > self._most_bytes and self._held:
            self._bytes -= self._held.popitem(last=False)[1].nbytes
