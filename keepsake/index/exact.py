"""Exact vector search in RAM, and the bounded cache of users' vectors that it runs over. Pure numpy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from keepsake.models import ItemKind

Vectors = NDArray[np.float32]
Keys = NDArray[np.int64]

Number = TypeVar("Number", np.int64, np.float32)

_KINDS: tuple[ItemKind, ItemKind] = ("message", "fact")
_SPARE = 8  # a buffer that is full grows by an eighth, so that appending stays cheap


def encode(kind: ItemKind, item_id: int) -> int:
    """One whole number for a message's or a fact's id: id * 2, and 1 more for a fact."""
    return item_id * 2 + _KINDS.index(kind)


def decode(key: int) -> tuple[ItemKind, int]:
    """What `encode` was given."""
    return _KINDS[key & 1], key >> 1


def places(keys: Keys, wanted: Sequence[int]) -> list[int]:
    """Where each of these keys stands among `keys`, in any order; -1 where it does not."""
    if not len(keys):
        return [-1] * len(wanted)
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys, np.asarray(wanted, dtype=np.int64), sorter=order)
    rows = order[np.minimum(found, len(keys) - 1)]
    hits = keys[rows] == wanted
    found_at: list[int] = np.where(hits, rows, -1).tolist()
    return found_at


def top(vectors: Vectors, query: Vectors, k: int) -> tuple[NDArray[np.intp], Vectors]:
    """Positions and cosines of the k rows nearest to the query, best first; of equals the earlier row.

    `vectors` (n, dimension) and `query` (dimension,) have length 1. Fewer than k rows give what there is.
    """
    scores = vectors @ query
    k = min(k, len(scores))
    if k <= 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.float32)
    chosen = np.arange(len(scores))
    if k < len(scores):
        least = np.partition(scores, -k)[-k]
        chosen = np.flatnonzero(scores >= least)  # all equals, so that the order of equals is ours
    order = chosen[np.argsort(-scores[chosen], kind="stable")][:k]
    return order, scores[order]


@dataclass(frozen=True, slots=True)
class CachedVectors:
    """A user's vectors: `keys` (n,) made by `encode`, `matrix` (n, dimension). Read-only; never change."""

    keys: Keys
    matrix: Vectors


class _Buffer:
    """Rows with room behind them. What was handed out stays valid: rows are only written behind its end."""

    def __init__(self, keys: Keys, matrix: Vectors) -> None:
        self._keys = np.array(keys, dtype=np.int64)
        self._matrix = np.array(matrix, dtype=np.float32, order="C")
        self._size = len(self._keys)

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._matrix.nbytes

    def view(self) -> CachedVectors:
        keys, matrix = self._keys[: self._size], self._matrix[: self._size]
        keys.flags.writeable = matrix.flags.writeable = False
        return CachedVectors(keys, matrix)

    def append(self, keys: Keys, matrix: Vectors) -> None:
        end = self._size + len(keys)
        if end > len(self._keys):
            room = end + end // _SPARE + 1
            self._keys = _grown(self._keys, self._size, room)
            self._matrix = _grown(self._matrix, self._size, room)
        self._keys[self._size : end] = keys
        self._matrix[self._size : end] = matrix
        self._size = end

    def without(self, keys: Keys) -> _Buffer | None:
        """A buffer without these keys; None where none of them is here."""
        held = self.view()
        stays = ~np.isin(held.keys, keys)
        return None if stays.all() else _Buffer(held.keys[stays], held.matrix[stays])


class VectorCache:
    """Users' vectors in RAM, at most `max_bytes` in all; the user who was used least recently leaves.

    A user who alone is larger than that is not cached. Not for several threads at once.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._users: OrderedDict[int, _Buffer] = OrderedDict()
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        return self._bytes

    def get(self, user_id: int) -> CachedVectors | None:
        """All vectors of the user, or None where they are not cached."""
        buffer = self._users.get(user_id)
        if buffer is None:
            return None
        self._users.move_to_end(user_id)
        return buffer.view()

    def put(self, user_id: int, keys: Sequence[int] | Keys, matrix: Vectors) -> None:
        """Caches all vectors of the user, in place of those that were."""
        self._set(user_id, _Buffer(np.asarray(keys, dtype=np.int64), matrix))

    def append(self, user_id: int, keys: Sequence[int] | Keys, vectors: Vectors) -> None:
        """Adds vectors where the user is cached, else does nothing. A key that is there is replaced."""
        buffer = self._users.get(user_id)
        if buffer is None:
            return
        added = np.asarray(keys, dtype=np.int64)
        buffer = buffer.without(added) or buffer
        before = self._users[user_id].nbytes
        buffer.append(added, np.asarray(vectors, dtype=np.float32))
        self._set(user_id, buffer, before)

    def remove(self, user_id: int, keys: Sequence[int] | Keys) -> None:
        """Takes vectors out; they leave the memory too."""
        buffer = self._users.get(user_id)
        smaller = buffer.without(np.asarray(keys, dtype=np.int64)) if buffer is not None else None
        if smaller is not None:
            self._set(user_id, smaller)

    def drop(self, user_id: int) -> None:
        """Forgets the user's vectors."""
        buffer = self._users.pop(user_id, None)
        if buffer is not None:
            self._bytes -= buffer.nbytes

    def clear(self) -> None:
        self._users.clear()
        self._bytes = 0

    def _set(self, user_id: int, buffer: _Buffer, before: int | None = None) -> None:
        old = self._users.get(user_id)
        if old is not None:
            self._bytes -= old.nbytes if before is None else before
        self._users[user_id] = buffer
        self._users.move_to_end(user_id)
        self._bytes += buffer.nbytes
        while self._users and self._bytes > self._max_bytes:
            self._bytes -= self._users.popitem(last=False)[1].nbytes


def _grown(array: NDArray[Number], size: int, room: int) -> NDArray[Number]:
    grown = np.empty((room, *array.shape[1:]), dtype=array.dtype)
    grown[:size] = array[:size]
    return grown
