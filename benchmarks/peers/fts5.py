"""SQLite's FTS5 alone: words by the Porter stemmer, without stop words, ranked by its own BM25."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from benchmarks.peers.runner import main
from benchmarks.peers.work import DEPTH, HashedEmbedder, Said, Vector
from keepsake.index.sentence_engine import MINILM, SentenceEngine
from keepsake.index.stopwords import ENGLISH

_SETUP = """
CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5 (text, user UNINDEXED, number UNINDEXED, tokenize = 'porter')
"""
_SEARCH = "SELECT number FROM said WHERE said MATCH ? AND user = ? ORDER BY rank LIMIT ?"


class Words:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def add(self, said: Said) -> None:
        await self.fill([said], [])

    async def settle(self) -> None:
        """A message can be found when it is committed."""

    async def search(self, user: int, text: str) -> list[int]:
        words = [word for word in re.findall(r"\w+", text.lower()) if word not in ENGLISH]
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        return [row[0] for row in self._connection.execute(_SEARCH, (query, user, DEPTH))]

    async def ready(self, text: str) -> None:
        """There is no model to wait for."""

    async def fill(self, messages: Sequence[Said], vectors: Sequence[Vector]) -> None:
        rows = [(said.text, said.user, said.id) for said in messages]
        with self._connection:
            self._connection.executemany("INSERT INTO said (text, user, number) VALUES (?, ?, ?)", rows)

    async def delete_user(self, messages: Sequence[Said]) -> None:
        with self._connection:
            self._connection.execute("DELETE FROM said WHERE user = ?", (messages[0].user,))

    @cached_property
    def _engine(self) -> SentenceEngine:
        engine = SentenceEngine(MINILM)
        engine.load()
        return engine

    def embed(self, text: str) -> Vector:
        """Only the unit: nothing here has a vector."""
        vector: Vector = self._engine.encode([text])[0]
        return vector

    async def close(self) -> None:
        self._connection.close()


async def opened(folder: Path, embed: HashedEmbedder | None) -> Words:
    connection = sqlite3.connect(folder / "words.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(_SETUP)
    return Words(connection)


if __name__ == "__main__":
    main(opened)
