"""What an engine is built from, besides its settings."""

from __future__ import annotations

from dataclasses import dataclass

from keepsake.facts.keeper import Extractor
from keepsake.index.chroma import ChromaIndex
from keepsake.index.embedder import Embedder
from keepsake.prompt.compaction import Asker
from keepsake.recall.rerank import Reranker


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts. None: it does without."""

    embedder: Embedder | None = None
    chroma: ChromaIndex | None = None
    extractor: Extractor | None = None
    reranker: Reranker | None = None
    model: Asker | None = None  # makes summaries, and is the one that the extractor asks
    # There is none yet, but what one would write is not to be done without it.
    model_comes_later: bool = False
    serving: bool = True  # False: for a command, which does what it was asked for and no more
