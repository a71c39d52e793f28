"""langgraph's SqliteStore with an embedding index over the text."""

from __future__ import annotations

import sqlite3
import sys

# As pyenv builds Python it loads no extensions; the store needs sqlite-vec.
if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore

from benchmarks.peers.runner import as_vector, main, minilm_folder
from benchmarks.peers.work import DEPTH, DIMENSION, HashedEmbedder, Said, Vector

Embed = Callable[[Sequence[str]], list[list[float]]]

_EMBEDDED = ["text"]  # said with each put: what the store is told under "fields" it does not heed


class LangGraph:
    def __init__(self, store: SqliteStore, embed: Embed, resources: ExitStack) -> None:
        self._store = store
        self._embed = embed
        self._resources = resources

    async def add(self, said: Said) -> None:
        self._store.put(_namespace(said.user), str(said.id), _value(said), index=_EMBEDDED)

    async def settle(self) -> None:
        """A message can be found when `put` has returned."""

    async def search(self, user: int, text: str) -> list[int]:
        return [int(item.key) for item in self._store.search(_namespace(user), query=text, limit=DEPTH)]

    async def ready(self, text: str) -> None:
        """Every search waits for the model."""

    async def fill(self, messages: Sequence[Said], vectors: Sequence[Vector]) -> None:
        self._store.batch(
            [PutOp(_namespace(said.user), str(said.id), _value(said), index=_EMBEDDED) for said in messages]
        )

    async def delete_user(self, messages: Sequence[Said]) -> None:
        """There is no call for a whole namespace."""
        for said in messages:
            self._store.delete(_namespace(said.user), str(said.id))

    def embed(self, text: str) -> Vector:
        return as_vector(self._embed([text])[0])

    async def close(self) -> None:
        self._resources.close()


def _namespace(user: int) -> tuple[str, str]:
    return ("memories", str(user))


def _value(said: Said) -> dict[str, str]:
    return {"text": said.text, "speaker": said.speaker, "created_at": said.at}


def _minilm() -> Embed:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    return lambda texts: model.encode(list(texts), show_progress_bar=False).tolist()


def _hashed(embed: HashedEmbedder) -> Embed:
    return lambda texts: [embed(text).tolist() for text in texts]


async def opened(folder: Path, embed: HashedEmbedder | None) -> LangGraph:
    by_model = _minilm() if embed is None else _hashed(embed)
    resources = ExitStack()
    index = {"dims": DIMENSION, "embed": by_model}
    store = resources.enter_context(SqliteStore.from_conn_string(str(folder / "store.db"), index=index))
    store.setup()
    return LangGraph(store, by_model, resources)


if __name__ == "__main__":
    main(opened)
