"""One question put to the model: the request that is made of it for each model that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from keepsake.assistant import AnswerStream, Memory, Model, Recalled
from keepsake.errors import ContextTooLong
from keepsake.llm.client import Turn
from keepsake.models import Message
from keepsake.prompt.request import system_text
from keepsake.prompt.tokens import O200K, Measure, table_of


class Asking:
    """Call `prepare`, then iterate over `answer`. `recalled` and `turns` are those of the last request."""

    recalled: Recalled
    turns: Sequence[Turn]
    answer: AnswerStream

    def __init__(
        self,
        memory: Memory,
        model: Model,
        question: Message,
        language: str,
        *,
        said: Sequence[Message] | None = None,
        remembered: bool = True,
    ) -> None:
        """`said`: what stands in RAM only, where the question does too; `remembered` False: nothing else is shown."""
        self.model = model
        self.question = question
        self._said = said
        self._remembered = remembered
        self._memory = memory
        self._language = language

    async def prepare(self) -> None:
        """Makes the request from memory; nothing is sent yet."""
        self.answer = self.model.stream(await self._request(self.model.name), remake=self._again)

    @property
    def answered_by(self) -> str:
        """The name of the model that was asked last."""
        return self.answer.model or self.model.name

    def counted(self) -> int:
        """Tokens of the request by the table of the model that answered, without what was learned of it."""
        return Measure(table_of(self.answered_by) or O200K).request(turn.content for turn in self.turns)

    async def _again(self, model: str, refusal: ContextTooLong | None) -> Sequence[Turn]:
        """The request as it fits `model`, with less in it where that refused the last one as too long."""
        if refusal is not None:
            requested = self.recalled.budget.measure.request(turn.content for turn in self.turns)
            await self._memory.too_long(refusal, requested)
        return await self._request(model)

    async def _request(self, model: str) -> Sequence[Turn]:
        question = self.question
        self.recalled = await self._memory.recall(
            question.user_id,
            question.content,
            before=question.id if self._said is None else None,
            model=model or None,
            said=self._said or (),
            remembered=self._remembered,
        )
        block, message = self.recalled.block, self.recalled.message
        self.turns = answer_turns(block, message, question.created_at, self._language)
        return self.turns


def answer_turns(block: str, message: str, today: datetime, language: str) -> list[Turn]:
    """The request: one system message with the block last, and the new message, which stands nowhere else."""
    parts = [part for part in (system_text(today, language), block.strip()) if part]
    return [Turn("system", "\n\n".join(parts)), Turn("user", message)]
