"""A small embedder for tests that ask what was embedded, not what it means."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


class Counting:
    """Vectors from a hash of the text; keeps what it was asked for."""

    dimension = 16

    def __init__(self, name: str) -> None:
        self.name = name
        self.embedded: set[str] = set()

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    async def embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded |= set(texts)
        return np.stack([self._vector(text) for text in texts])

    def forget_cached(self) -> None:
        self.embedded.clear()

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> NDArray[np.float32]:
        raw = self._raw(blake2b(f"{self.name} {text}".encode(), digest_size=16).digest())
        return np.asarray(raw / np.linalg.norm(raw), dtype=np.float32)

    def _raw(self, digest: bytes) -> NDArray[np.float32]:
        return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5


class Wide(Counting):
    """Vectors of a real size."""

    dimension = 384

    def _raw(self, digest: bytes) -> NDArray[np.float32]:
        seed = int.from_bytes(digest, "little")
        return np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
