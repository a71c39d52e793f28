"""One question put to the model: the request that is made of it, and a shorter one where that was too long."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from keepsake.assistant import AnswerStream, Memory, Model, Recalled
from keepsake.errors import ContextTooLong
from keepsake.llm.client import Turn
from keepsake.models import Message
from keepsake.prompt.request import system_text
from keepsake.prompt.tokens import O200K, Measure, table_of

log = logging.getLogger(__name__)


@asynccontextmanager
async def _closed(pieces: AsyncIterator[str]) -> AsyncIterator[AsyncIterator[str]]:
    """Closes a generator's connection at once where nobody reads on."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


class Asking:
    """Call `prepare`, then iterate over `pieces`. `recalled`, `turns` and `answer` are those of the last request."""

    recalled: Recalled
    turns: Sequence[Turn]
    answer: AnswerStream

    def __init__(self, memory: Memory, model: Model, question: Message, language: str) -> None:
        self.model = model
        self.question = question
        self._memory = memory
        self._language = language

    async def prepare(self) -> None:
        """Makes the request from memory; nothing is sent yet."""
        question = self.question
        self.recalled = await self._memory.recall(
            question.user_id, question.content, before=question.id, model=self.model.name or None
        )
        block, message = self.recalled.block, self.recalled.message
        self.turns = answer_turns(block, message, question.created_at, self._language)
        self.answer = self.model.stream(self.turns)

    async def pieces(self) -> AsyncIterator[str]:
        """The answer as it comes. Raises what the model raises, ContextTooLong only where it says so twice."""
        try:
            async with _closed(aiter(self.answer)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except ContextTooLong as refusal:
            if self.answer.text:
                raise
            requested = self.recalled.budget.measure.request(turn.content for turn in self.turns)
            log.warning("%s Asked again with less.", refusal)
            await self._memory.too_long(self.model.name, refusal, requested)
        await self.prepare()
        async with _closed(aiter(self.answer)) as pieces:
            async for piece in pieces:
                yield piece

    def counted(self) -> int:
        """Tokens of the request by the model's table, without what was learned of it."""
        return Measure(table_of(self.model.name) or O200K).request(turn.content for turn in self.turns)


def answer_turns(block: str, message: str, today: datetime, language: str) -> list[Turn]:
    """The request: one system message with the block last, and the new message, which stands nowhere else."""
    parts = [part for part in (system_text(today, language), block.strip()) if part]
    return [Turn("system", "\n\n".join(parts)), Turn("user", message)]
