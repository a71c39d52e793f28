"""The reranker by a CrossEncoder of the package sentence-transformers, imported only when one is chosen."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keepsake.errors import RerankerError
from keepsake.index.sentence_engine import INSTALL, looks_like_folder
from keepsake.index.thread import OwnThread

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

CHUNK_TEXTS = 4  # whoever stops waiting holds the thread for at most so many
_CLOSE_SECONDS = 10.0  # a model that is still being fetched holds nobody up at the end

log = logging.getLogger(__name__)


class CrossEncoderReranker:
    """A CrossEncoder by its hub name or by a folder, on a daemon thread of its own. One CPU thread.

    It is loaded once. Where that fails, the log says so in one line, and every call raises RerankerError.
    """

    def __init__(self, model: str) -> None:
        self._source = model
        self._model: CrossEncoder | None = None
        self._failure: RerankerError | None = None
        self._thread = OwnThread("reranker")

    def prepare(self) -> Future[None]:
        """Begins to load the model, where it is not. The future ends without an error, also where it cannot be had."""
        return self._thread.submit(self._load_once)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for each text, greater for better ones. Raises RerankerError."""
        chunks = [texts[start : start + CHUNK_TEXTS] for start in range(0, len(texts), CHUNK_TEXTS)]
        futures = [
            asyncio.wrap_future(self._thread.submit(partial(self._score, query, chunk))) for chunk in chunks
        ]
        try:
            return [score for scores in await asyncio.gather(*futures) for score in scores]
        except RerankerError as error:
            if self._failure is None:  # else it was said when it could not be loaded
                log.warning("%s", error)
            raise

    async def close(self) -> None:
        await asyncio.wait([asyncio.wrap_future(self._thread.stop())], timeout=_CLOSE_SECONDS)

    # All below runs on the thread.

    def _load_once(self) -> None:
        if self._model is not None or self._failure is not None:
            return
        try:
            self._model = _load(self._source)
        except RerankerError as error:
            self._failure = error
            log.warning("%s; recall goes on without it", error)

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        self._load_once()
        if self._model is None:
            raise RerankerError(str(self._failure))
        try:
            scores = self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        except (RuntimeError, ValueError, IndexError) as error:
            raise RerankerError(f"RERANKER_MODEL {self._source} failed ({type(error).__name__})") from error
        return [float(score) for score in np.asarray(scores, dtype=np.float64)]


def open_reranker(settings_name: str | None) -> CrossEncoderReranker | None:
    """The reranker of RERANKER_MODEL, not loaded yet; None where none is chosen."""
    return CrossEncoderReranker(settings_name) if settings_name else None


def _load(source: str) -> CrossEncoder:
    """The model, after it has scored a pair. Raises RerankerError with what to do."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise RerankerError(f"RERANKER_MODEL {source} needs the package sentence-transformers: {INSTALL}")
    folder = Path(source).expanduser()
    local = folder.is_dir()
    if not local and looks_like_folder(source):
        raise RerankerError(f"RERANKER_MODEL {source}: there is no such folder; name one that holds a model")
    try:
        import torch
        from sentence_transformers import CrossEncoder
        from transformers.utils.logging import disable_progress_bar

        torch.set_num_threads(1)
        disable_progress_bar()  # type: ignore[no-untyped-call]
        model: CrossEncoder = CrossEncoder(
            str(folder) if local else source, device="cpu", local_files_only=local
        )
        shape = np.asarray(model.predict([("a", "b")], show_progress_bar=False)).shape
    except (ImportError, OSError, ValueError, RuntimeError, KeyError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise RerankerError(
            f"RERANKER_MODEL {source} cannot be loaded ({reason}): check the name, or leave it empty"
        ) from error
    if shape != (1,):
        raise RerankerError(
            f"RERANKER_MODEL {source} gives {shape[-1]} scores a pair, not one: name a reranker"
        )
    return model
