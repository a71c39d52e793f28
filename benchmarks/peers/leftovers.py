"""Messages that are deleted afterwards, and the search for what is left of them on disk."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.work import Said

SECRETS = 8
_LETTERS = "bcdfghjkmnpqrtvwxz"
_PIECE = 128  # bytes of a vector that nothing else could hold by chance


def secrets(user: int, first_id: int) -> tuple[Said, ...]:
    """Messages with one word each that stands nowhere else."""
    chance = random.Random(17)
    words = ["".join(chance.choices(_LETTERS, k=24)) for _ in range(SECRETS)]
    return tuple(
        Said(number, user, "Ann", f"the word that I keep to myself is {word}", "2026-01-01T00:00:00+00:00")
        for number, word in enumerate(words, first_id)
    )


def left(folder: Path, said: Sequence[Said], vectors: Sequence[bytes]) -> tuple[int, int]:
    """Of how many messages the word, and of how many vectors a piece, stands in any file under `folder`."""
    # The end of the word: an index may store a term without the beginning that it shares with the one before.
    words = [one.text.split()[-1][-16:].encode() for one in said]
    pieces = [[vector[at : at + _PIECE] for at in range(0, len(vector), _PIECE)] for vector in vectors]
    seen_words: set[int] = set()
    seen_vectors: set[int] = set()
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            seen_words |= {number for number, word in enumerate(words) if word in data}
            seen_vectors |= {
                number for number, own in enumerate(pieces) if any(piece in data for piece in own)
            }
    return len(seen_words), len(seen_vectors)
