"""Puts many messages into an opened memory at once, where their making is not what is measured."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from keepsake.clock import system_clock
from keepsake.manager import HybridMemoryManager
from keepsake.models import Role
from keepsake.store import embeddings, users
from keepsake.store.embeddings import ItemKey, Vector
from keepsake.store.messages import NewMessage

_ROLES: tuple[Role, Role] = ("assistant", "user")


def random_vectors(count: int, seed: int) -> Vector:
    """Unit vectors (count, 384), float32."""
    vectors = np.random.default_rng(seed).standard_normal((count, 384), dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


async def fill(memory: HybridMemoryManager, user_id: int, texts: Sequence[str], vectors: Vector) -> list[int]:
    """Messages of the assistant and of the user in turns, with their vectors. Returns their ids.

    All stand in memory.db afterwards; a message that is saved next hands them to Chroma. No facts are drawn of them.
    """
    storage = (await memory.engine()).storage

    def save_all(connection: sqlite3.Connection) -> list[int]:
        ids = [
            storage._save_message(
                connection, NewMessage(user_id, _ROLES[number % 2], text, system_clock())
            ).id
            for number, text in enumerate(texts)
        ]
        connection.execute("UPDATE users SET fact_cursor = ? WHERE user_id = ?", (ids[-1], user_id))
        connection.execute("DELETE FROM jobs WHERE user_id = ?", (user_id,))
        model = str(users.get_meta(connection, "embedding_model"))
        keys: list[ItemKey] = [("message", one) for one in ids]
        rows = [(kind, one, vector) for (kind, one), vector in zip(keys, vectors, strict=True)]
        embeddings.store(connection, user_id, model, rows)
        return ids

    return await storage.database.write(save_all)
