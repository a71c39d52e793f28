"""mem0 with Chroma: messages as they are (`infer=False`), no model but the embedding one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from mem0 import Memory

from benchmarks.peers.runner import as_vector, main, minilm_folder
from benchmarks.peers.work import DEPTH, HashedEmbedder, Said, Vector

_NUMBER = "number"


class Hashed:
    """In the place of mem0's embedding model, vectors that cost nothing."""

    def __init__(self, embed: HashedEmbedder) -> None:
        self._embed = embed

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._embed(text).tolist()  # type: ignore[no-any-return]


class Mem0:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def add(self, said: Said) -> None:
        message = {"role": "user", "content": said.text, "name": said.speaker}
        metadata = {_NUMBER: said.id, "created_at": said.at}
        self._memory.add([message], user_id=str(said.user), metadata=metadata, infer=False)

    async def settle(self) -> None:
        """A message can be found when `add` has returned."""

    async def search(self, user: int, text: str) -> list[int]:
        found = self._memory.search(text, top_k=DEPTH, filters={"user_id": str(user)})
        return [int(one["metadata"][_NUMBER]) for one in found["results"]]

    async def ready(self, text: str) -> None:
        """Every search waits for the model."""

    async def fill(self, messages: Sequence[Said], vectors: Sequence[Vector]) -> None:
        """Rows like those of `add`, straight into mem0's vector store; only its history lacks them."""
        payloads = [
            {
                "user_id": str(said.user),
                "role": "user",
                "actor_id": said.speaker,
                _NUMBER: said.id,
                "data": said.text,
                "hash": hashlib.md5(said.text.encode()).hexdigest(),
                "created_at": said.at,
                "updated_at": said.at,
                "text_lemmatized": said.text,
            }
            for said in messages
        ]
        self._memory.vector_store.insert(
            vectors=[vector.tolist() for vector in vectors],
            payloads=payloads,
            ids=[str(said.id) for said in messages],
        )

    async def delete_user(self, messages: Sequence[Said]) -> None:
        self._memory.delete_all(user_id=str(messages[0].user))

    def embed(self, text: str) -> Vector:
        return as_vector(self._memory.embedding_model.embed(text))

    async def close(self) -> None:
        self._memory.close()


async def opened(folder: Path, embed: HashedEmbedder | None) -> Mem0:
    torch.set_num_threads(1)
    model = {"model": str(minilm_folder()), "model_kwargs": {"device": "cpu", "local_files_only": True}}
    os.environ.setdefault("OPENAI_API_KEY", "never called")
    memory = Memory.from_config(
        {
            "embedder": {"provider": "huggingface", "config": model},
            "vector_store": {
                "provider": "chroma",
                "config": {"collection_name": "memories", "path": str(folder / "chroma")},
            },
            "history_db_path": str(folder / "history.db"),
        }
    )
    if embed is not None:
        memory.embedding_model = Hashed(embed)
    return Mem0(memory)


if __name__ == "__main__":
    main(opened)
