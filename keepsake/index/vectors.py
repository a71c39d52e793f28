"""Small pure helpers for embedding vectors: what text is fed to a model, and unit length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EMBEDDED_BYTES = 1600
"""A model is fed the first 1,600 bytes of UTF-8: 1,600 English, about 850 Russian, 530 Chinese characters.

Time grows with length, and bytes grow with it evenly over scripts (a token is about 4 bytes in each); 1,600
are about the 512 tokens that such models were trained on.
"""


def model_text(text: str) -> str:
    """The text as a model is fed it: no NUL, no lone surrogates, at most EMBEDDED_BYTES."""
    head = text[:EMBEDDED_BYTES].replace("\0", " ").strip()
    raw = head.encode("utf-8", errors="replace")
    return raw[:EMBEDDED_BYTES].decode("utf-8", errors="ignore")


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows at length 1, shape (n, dimension), float32; a row of zeros stays so."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)
