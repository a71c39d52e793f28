"""Older messages become a summary (requirements.md, B2): from the messages alone, never from summaries.

What a model wrote is checked (`values`): a summary that lost or invented values is asked for once more, with what was
wrong, then the condensation of the messages is taken.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from keepsake.errors import ModelAnswerInvalid
from keepsake.llm.client import Formed, Turn
from keepsake.llm.form import JsonSchema, form_note
from keepsake.llm.prompts import SUMMARY_PROMPT, load_prompt
from keepsake.models import Message
from keepsake.prompt.block import Say, condense, indented, speaker
from keepsake.prompt.budget import Count, shorten
from keepsake.prompt.tokens import request_tokens
from keepsake.prompt.values import Verdict, judge, values

log = logging.getLogger(__name__)
T = TypeVar("T")

FORM_NAME = "summary"
MOST_WORDS = 120
MOST_CHARACTERS = 1600
_LEAST_TOKENS = 20  # for a message; with less room the model would see no more than the condensation has
_NOTHING = "(none)"

SUMMARY_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}


class Asker(Protocol):
    """A model that answers in a form (keepsake.llm.client.ChatModel). Raises ModelError."""

    @property
    def names(self) -> tuple[str, ...]: ...

    async def formed(
        self, turns: Sequence[Turn], schema: JsonSchema, *, name: str, parse: Callable[[dict[str, Any]], T]
    ) -> Formed[T]: ...


@dataclass(frozen=True, slots=True)
class Made:
    """A summary's text, and which model made it by which prompt; None where it is the condensation."""

    content: str
    model: str | None = None
    prompt_version: str | None = None


async def summarise(
    model: Asker | None, messages: Sequence[Message], *, tokens: int, count: Count, say: Say
) -> Made:
    """What these messages came to. `tokens` bounds the request, `say` speaks the user's language.

    Raises ModelUnavailable where the model cannot be asked: try again later.
    """
    # On a thread: messages may be megabytes.
    turns = await asyncio.to_thread(request_turns, messages, tokens, count)
    if model is None or turns is None:
        return Made(condensation(messages, say))
    wrong = Verdict()
    for _ in range(2):
        try:
            formed = await model.formed(
                _told(turns, wrong), SUMMARY_SCHEMA, name=FORM_NAME, parse=read_summary
            )
        except ModelAnswerInvalid:
            break
        wrong = await asyncio.to_thread(judge, formed.value, messages)
        if not wrong:
            return Made(formed.value, formed.model, SUMMARY_PROMPT)
        log.info("a summary lost %d values and invented %d", len(wrong.lost), len(wrong.invented))
    return Made(condensation(messages, say))


def request_turns(messages: Sequence[Message], tokens: int, count: Count) -> list[Turn] | None:
    """The request; None where `tokens` leave too little for so many messages. Long messages are cut in their middle."""
    fixed = _turns("", "")
    room = tokens - request_tokens([turn.content for turn in fixed], count)
    room -= count("\n\n" + form_note("plain", SUMMARY_SCHEMA, again=True))
    wanted = ", ".join(values(messages)) or _NOTHING
    room -= 2 * count(wanted)  # named once more where they were lost
    share = room // max(1, len(messages))
    if share < _LEAST_TOKENS:
        return None
    lines = [_line(message) for message in messages]
    if sum(count(line + "\n") for line in lines) > room:
        lines = [shorten(line, share - 1, count) for line in lines]
    return _turns("\n".join(lines), wanted)


def read_summary(answer: Mapping[str, Any]) -> str:
    """The text of the answer, on one line. Raises ValueError where there is none, or far too much."""
    text = answer.get("summary")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("no summary")
    line = " ".join(text.split())
    if len(line) > MOST_CHARACTERS:
        raise ValueError("the summary is too long")
    return line


def condensation(messages: Sequence[Message], say: Say) -> str:
    """Each message on a line, condensed as in the LTM."""
    return "\n".join(f"{speaker(message, say)}: {condense(message.content)}" for message in messages)


def _line(message: Message) -> str:
    who = f"{message.role} ({condense(message.sender)})" if message.sender else message.role
    return f"{message.created_at:%Y-%m-%d} {who}: {indented(message.content)}"


def _turns(conversation: str, wanted: str) -> list[Turn]:
    return load_prompt(SUMMARY_PROMPT).render(conversation=conversation, values=wanted, words=str(MOST_WORDS))


def _told(turns: Sequence[Turn], wrong: Verdict) -> list[Turn]:
    """The request, with what was wrong with the last answer."""
    notes = []
    if wrong.lost:
        notes.append(f"Your last summary lost: {', '.join(wrong.lost)}.")
    if wrong.invented:
        notes.append(f"These stand nowhere in the conversation: {', '.join(wrong.invented[:10])}.")
    last = turns[-1]
    return [*turns[:-1], replace(last, content="\n\n".join([last.content, *notes]))]
