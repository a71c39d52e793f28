"""How the model is asked for facts: the more room CONTEXT_TOKENS leave, the more it is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from keepsake.facts.window import Count, render_window
from keepsake.llm.client import Turn
from keepsake.llm.form import JsonSchema, form_note
from keepsake.llm.prompts import BRIEF_EXTRACTION_PROMPT, EXTRACTION_PROMPT, Prompt, load_prompt
from keepsake.models import CATEGORIES, Message

_TURN_TOKENS = 8
# Less room than this for the conversation: the examples are left out, then all that is not needed.
_ROOM_WORTH_EXAMPLES = 800
_ROOM_WORTH_INSTRUCTIONS = 250

_OPTIONAL_TEXT = {"type": ["string", "null"]}
FACT_FIELDS: dict[str, Any] = {
    "content": {"type": "string"},
    "quote": _OPTIONAL_TEXT,
    "message_ids": {"type": "array", "items": {"type": "integer"}},
    "category": {"type": "string", "enum": list(CATEGORIES)},
    "type": {"type": "string", "enum": ["fact", "preference", "event", "relation"]},
    "subject": _OPTIONAL_TEXT,
    "predicate": _OPTIONAL_TEXT,
    "object": _OPTIONAL_TEXT,
    "importance": {"type": "number"},
    "confidence": {"type": "number"},
    "valid_until": _OPTIONAL_TEXT,
}


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object in the strict mode of structured outputs: every property required, no other allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _facts(properties: Mapping[str, Any]) -> JsonSchema:
    return closed({"facts": {"type": "array", "items": closed(properties)}})


EXTRACTION_SCHEMA = _facts(FACT_FIELDS)


@dataclass(frozen=True, slots=True)
class Form:
    """A way to ask, worth it where it leaves `least` tokens for the conversation."""

    prompt: Prompt
    schema: JsonSchema
    least: int

    def room(self, context_tokens: int, count: Count) -> int:
        """The tokens that the conversation may take, so that the whole request has `context_tokens`."""
        # Where a server knows no response_format, the schema stands in the prompt.
        fixed = count("\n\n" + form_note("plain", self.schema, again=True))
        fixed += sum(count(turn.content) + _TURN_TOKENS for turn in self.prompt.turns)
        return context_tokens - fixed


@cache
def _forms() -> Sequence[Form]:
    full = load_prompt(EXTRACTION_PROMPT)
    bare = replace(full, turns=(full.turns[0], full.turns[-1]))
    return (
        Form(full, EXTRACTION_SCHEMA, _ROOM_WORTH_EXAMPLES),
        Form(bare, EXTRACTION_SCHEMA, _ROOM_WORTH_INSTRUCTIONS),
        Form(
            load_prompt(BRIEF_EXTRACTION_PROMPT),
            _facts({key: FACT_FIELDS[key] for key in ("content", "quote", "message_ids", "subject")}),
            0,
        ),
    )


def choose_form(context_tokens: int | None, count: Count) -> Form:
    """The fullest form that leaves enough for the conversation; None: there is no bound."""
    forms = _forms()
    if context_tokens is None:
        return forms[0]
    return next((form for form in forms if form.room(context_tokens, count) >= form.least), forms[-1])


def conversation_tokens(context_tokens: int, count: Count) -> int:
    """The tokens that the conversation may take, so that the whole request has `context_tokens`."""
    return choose_form(context_tokens, count).room(context_tokens, count)


def request_turns(
    window: Sequence[Message], *, now: datetime, context_tokens: int | None, count: Count
) -> list[Turn]:
    """The request: instructions, examples and the conversation in turns of their own.

    Messages that are too long for `context_tokens` are cut.
    """
    room = None if context_tokens is None else conversation_tokens(context_tokens, count)
    shown = render_window(window, tokens=room, count=count)
    prompt = choose_form(context_tokens, count).prompt
    return prompt.render(conversation=shown, today=f"{now:%a %Y-%m-%d}")
