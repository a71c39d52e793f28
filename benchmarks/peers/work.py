"""The work that every system does, as it stands in the work file. Needs nothing but numpy."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.texts import sentence

Vector = NDArray[np.float32]

DIMENSION = 384
DEPTH = 10  # results that are asked for
SCALE_USER = 1
SCALE_QUESTIONS = 40


@dataclass(frozen=True, slots=True)
class Said:
    """A message; `id` counts over the whole work, `at` is in ISO 8601."""

    id: int
    user: int
    speaker: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, and the ids of the messages that answer it."""

    user: int
    text: str
    needs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """`secrets`: the messages of the user who is deleted afterwards. `sizes`: messages of one user, rising."""

    messages: tuple[Said, ...]
    questions: tuple[Wanted, ...]
    secrets: tuple[Said, ...]
    sizes: tuple[int, ...]

    @classmethod
    def load(cls, path: Path) -> Work:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            tuple(Said(**one) for one in raw["messages"]),
            tuple(Wanted(one["user"], one["text"], tuple(one["needs"])) for one in raw["questions"]),
            tuple(Said(**one) for one in raw["secrets"]),
            tuple(raw["sizes"]),
        )

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), ensure_ascii=False), encoding="utf-8")


class HashedEmbedder:
    """Random unit vectors by a hash of the text: equal in every process, and so cheap that only the store counts."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = {text: self._make(text) for text in known}

    def __call__(self, text: str) -> Vector:
        vector = self._known.get(text)
        return self._make(text) if vector is None else vector

    @staticmethod
    def _make(text: str) -> Vector:
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
        vector = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def scale_questions() -> list[str]:
    chance = random.Random(11)
    return [sentence(chance) for _ in range(SCALE_QUESTIONS)]


def scale_messages(first: int, last: int) -> list[Said]:
    """Messages number `first` to before `last` of one user."""
    return [
        Said(
            number,
            SCALE_USER,
            "Ann",
            f"{sentence(random.Random(number))} {number}",
            "2026-01-01T00:00:00+00:00",
        )
        for number in range(first, last)
    ]
