"""What a scan looks for: short pieces of a person's texts and vectors, kept only as keyed hashes.

A needle is known by its length, a 64-bit keyed hash of its first 12 bytes, which numpy reckons for every
position of a file at once, and a keyed digest of all of it, which is compared where the first one fits. So an
erasure that was interrupted after the rows were gone can still look for them, and keeps no text to do so.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

RUN = 12  # characters: a shorter run is not told from what anybody might have written
_PREFIX = 12  # bytes under the first hash
_PIECE = 16  # characters of one needle, where the text is long enough
_STRIDE = 48  # characters from one needle to the next
_PIECES_MAX = 16  # needles of one text
_VECTOR_PIECE = 24  # bytes, six float32
_DISTINCT = 5  # different characters or bytes that a needle has at least: "------------" says nothing
_FILTER_BITS = 24  # entries of the filter before the exact lookup: 16 MB, 2 % full at 350,000 needles

UInt64 = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a needle stands. `group`: the needles that are the same piece in other encodings."""

    position: int
    length: int
    group: int


class Needles:
    """A set of needles, sorted by the hash of their first bytes. The arrays belong together, row by row."""

    def __init__(
        self,
        secret: bytes,
        prefix: UInt64,
        length: NDArray[np.uint16],
        digest: UInt64,
        group: NDArray[np.uint32],
    ) -> None:
        order = np.argsort(prefix, kind="stable")
        self.secret = secret
        self.prefix, self.length = prefix[order], length[order]
        self.digest, self.group = digest[order], group[order]
        self._filter = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
        self._filter[(self.prefix >> np.uint64(64 - _FILTER_BITS)).astype(np.int64)] = True

    def __len__(self) -> int:
        return len(self.prefix)

    @property
    def longest(self) -> int:
        """Bytes of the longest needle."""
        return int(self.length.max()) if len(self) else _PREFIX

    @classmethod
    def build(cls, secret: bytes, texts: Iterable[str], vectors: Iterable[bytes]) -> Needles:
        """Needles of texts in every encoding looked for, and of vectors (float32, little endian).

        `secret`: 32 random bytes.
        """
        raw: list[bytes] = []
        groups: list[int] = []
        for group, forms in enumerate(_all_forms(texts, vectors)):
            raw.extend(forms)
            groups.extend([group] * len(forms))
        digest = np.array([_digest(secret, needle) for needle in raw], dtype=np.uint64)
        length = np.array([len(needle) for needle in raw], dtype=np.uint16)
        heads = b"".join(needle[:_PREFIX] for needle in raw)
        prefix = _hash_rows(secret, heads, len(raw))
        return cls(secret, prefix, length, digest, np.array(groups, dtype=np.uint32))

    def joined(self, other: Needles) -> Needles:
        """Both sets as one; they must have the same secret."""
        shift = np.uint32(int(self.group.max()) + 1 if len(self) else 0)
        return Needles(
            self.secret,
            np.concatenate([self.prefix, other.prefix]),
            np.concatenate([self.length, other.length]),
            np.concatenate([self.digest, other.digest]),
            np.concatenate([self.group, other.group + shift]),
        )

    def find(self, data: bytes) -> Iterator[Hit]:
        """Every place in `data` where a needle stands whole."""
        if not len(self):
            return
        for position, prefix in self._candidates(data):
            low = int(np.searchsorted(self.prefix, prefix, side="left"))
            high = int(np.searchsorted(self.prefix, prefix, side="right"))
            for row in range(low, high):
                length = int(self.length[row])
                piece = data[position : position + length]
                if len(piece) == length and _digest(self.secret, piece) == int(self.digest[row]):
                    yield Hit(position, length, int(self.group[row]))

    def _candidates(self, data: bytes) -> Iterator[tuple[int, np.uint64]]:
        """Positions whose first bytes have the hash of a needle's, in no order."""
        for shift in range(8):
            rows = (len(data) - shift - 4) // 8
            if rows <= 0:
                continue
            first = np.frombuffer(data, dtype="<u8", count=rows, offset=shift)
            second = np.frombuffer(data, dtype="<u8", count=rows, offset=shift + 4)
            hashes = _mix(self.secret, first, second)
            likely = np.flatnonzero(self._filter[(hashes >> np.uint64(64 - _FILTER_BITS)).astype(np.int64)])
            if len(likely):
                exact = likely[np.isin(hashes[likely], self.prefix)]
                yield from ((shift + 8 * int(index), hashes[index]) for index in exact)


def _mix(secret: bytes, first: UInt64, second: UInt64) -> UInt64:
    # Multilinear hashing modulo 2^64 with two secret odd factors; only its high bits are used as an address.
    one = np.uint64(int.from_bytes(secret[:8], "little") | 1)
    two = np.uint64(int.from_bytes(secret[8:16], "little") | 1)
    return first * one + second * two


def _hash_rows(secret: bytes, heads: bytes, rows: int) -> UInt64:
    table = np.frombuffer(heads, dtype=np.uint8).reshape(rows, _PREFIX)
    first = np.ascontiguousarray(table[:, :8]).view("<u8").reshape(rows)
    second = np.ascontiguousarray(table[:, 4:]).view("<u8").reshape(rows)
    return _mix(secret, first, second)


def _digest(secret: bytes, needle: bytes) -> int:
    return int.from_bytes(blake2b(needle, digest_size=8, key=secret).digest(), "little")


def _all_forms(texts: Iterable[str], vectors: Iterable[bytes]) -> Iterator[list[bytes]]:
    for piece in {piece for text in texts for piece in pieces(text)}:
        yield encodings(piece)
    for vector in vectors:
        yield from vector_pieces(vector)


def pieces(text: str) -> Iterator[str]:
    """Pieces of at least 12 characters, spread evenly over the text, its first and last among them."""
    size = min(len(text), _PIECE)
    if size < RUN:
        return
    last = len(text) - size
    count = min(1 + -(-last // _STRIDE), _PIECES_MAX)
    for index in range(count):
        start = round(index * last / (count - 1)) if count > 1 else 0
        piece = text[start : start + size]
        if len(set(piece)) >= _DISTINCT:
            yield piece


def encodings(piece: str) -> list[bytes]:
    """A piece as UTF-8, UTF-16, in JSON with escapes, and in base64 at each of its three alignments."""
    plain = piece.encode("utf-8", "surrogatepass")
    forms = {plain, piece.encode("utf-16-le", "surrogatepass"), json.dumps(piece)[1:-1].encode("ascii")}
    for alignment in range(3):
        # The first and last characters also depend on what stands beside the piece: they are cut off.
        whole = base64.b64encode(bytes(alignment) + plain)
        start, end = -(-alignment * 8 // 6), (alignment + len(plain)) * 8 // 6
        forms.add(whole[start:end])
        forms.add(whole[start:end].translate(bytes.maketrans(b"+/", b"-_")))
    return [form for form in forms if len(form) >= _PREFIX]


def vector_pieces(vector: bytes) -> Iterator[list[bytes]]:
    """Beginning, middle and end of a vector, also as an index stores it that normalises once more."""
    values = np.frombuffer(vector[: len(vector) // 4 * 4], dtype="<f4")
    norm = np.float32(np.linalg.norm(values))
    forms = [vector]
    if np.isfinite(norm) and norm > 0:
        inverse = np.float32(1.0) / (norm + np.float32(1e-30))
        forms += [(values * inverse).tobytes(), (values / norm).tobytes()]
    end = len(vector) - _VECTOR_PIECE
    for start in {0, end // 2 // 4 * 4, end}:
        found = {form[start : start + _VECTOR_PIECE] for form in forms if start >= 0}
        distinct = [piece for piece in found if len(set(piece)) >= _DISTINCT]
        if distinct:
            yield distinct
