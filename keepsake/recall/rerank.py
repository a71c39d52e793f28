"""The last step of recall, off by default: a reranker reads question and message together and orders anew.

It orders the first results only, since it is slow, and only what the floor has left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from keepsake.errors import RerankerError
from keepsake.models import Message
from keepsake.recall.echoes import Found, without_echoes
from keepsake.recall.question import Question

PATIENCE_SECONDS = 5.0  # with the reranker, for one question; somebody waits for the answer
TEXT_MAX = 4_000  # characters of a text that are read; these models take about 512 tokens

log = logging.getLogger(__name__)


class Reranker(Protocol):
    """A model that says how well a text answers a question, off the event loop."""

    def prepare(self) -> Future[None]:
        """Begins to load it and returns at once. Where that fails one line is logged; the future has no error."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for each text, greater for better ones; only their order means something.

        Raises RerankerError.
        """

    async def close(self) -> None:
        """Ends its thread. Idempotent."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """Which model orders anew, if any, and how many results it is given."""

    reranker: Reranker | None = None
    candidates: int = 20

    def needed(self, limit: int) -> int:
        """How many results are read, so that `limit` are left."""
        return limit if self.reranker is None else max(limit, self.candidates)

    async def order(
        self, question: Question, earlier: Sequence[str], found: Sequence[Found], limit: int
    ) -> list[Found]:
        """The first `limit`, in the reranker's order where it answers in time, else as they are.

        `earlier`: turns before a question that may be vague.
        """
        first = found[: self.candidates]
        if self.reranker is None or len(first) < 2:
            return list(found[:limit])
        query = "\n".join([*earlier, question.text])[-TEXT_MAX:]
        texts = [_text(message) for message, _ in first]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                scores = await self.reranker.scores(query, texts)
        except TimeoutError:
            log.warning(
                "recall without the reranker: it takes longer than %g s; a smaller RERANKER_MODEL, "
                "or fewer RERANKER_CANDIDATES, may be fast enough",
                PATIENCE_SECONDS,
            )
            return list(found[:limit])
        except RerankerError as error:
            log.debug("recall without the reranker: %s", error)  # it has told of it itself
            return list(found[:limit])
        # The question itself, asked before, answers best of all to such a model.
        return without_echoes([*reordered(first, scores), *found[len(first) :]], question.text, limit)


def reordered(found: Sequence[Found], scores: Sequence[float]) -> list[Found]:
    """Results in the order of `scores`, of equals as they were.

    What recall gave them as scores is dealt out anew from the top: so they still fall, and mean what the floor means.
    """
    order = sorted(range(len(found)), key=lambda place: (-scores[place], place))
    return [(found[place][0], given) for place, (_, given) in zip(order, found, strict=True)]


def _text(message: Message) -> str:
    said = message.content[:TEXT_MAX]
    return f"{message.sender}: {said}" if message.sender else said
