"""Facts out of a window of conversation: asks the model, keeps what is grounded, counts what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from keepsake.facts.candidate import read_candidate
from keepsake.facts.ground import Ground, Refusal, Terms, junk
from keepsake.facts.window import Count, render_window
from keepsake.llm.client import ChatModel, Turn
from keepsake.llm.form import JsonSchema
from keepsake.llm.prompts import EXTRACTION_PROMPT, load_prompt
from keepsake.models import CATEGORIES, FactDraft, Message

FORM_NAME = "facts"
# With less room than this for the conversation, the examples are left out.
_ROOM_WORTH_EXAMPLES = 800
_LEAST_CONVERSATION_TOKENS = 64
_TURN_TOKENS = 8
# What a weak model says of its certainty means nothing. Above a guess (0.5): its quotes are checked.
WEAK_CONFIDENCE = 0.6

_OPTIONAL_TEXT = {"type": ["string", "null"]}
_FIELDS: dict[str, Any] = {
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


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object in the strict mode of structured outputs: every property required, no other allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


EXTRACTION_SCHEMA: JsonSchema = _closed({"facts": {"type": "array", "items": _closed(_FIELDS)}})


@dataclass(frozen=True, slots=True)
class Extraction:
    """The facts that may be stored, and how many were refused for which reason (for the log)."""

    drafts: tuple[FactDraft, ...]
    refused: Mapping[Refusal, int] = field(default_factory=dict)


async def extract(
    model: ChatModel,
    window: Sequence[Message],
    *,
    now: datetime,
    terms: Terms,
    context_tokens: int | None = None,
    count: Count = len,
) -> Extraction:
    """The grounded facts of the window.

    `terms` gives a text's content words. `context_tokens` bounds the whole request, counted by `count`.
    Raises ModelError; a window without a user's message asks nothing.
    """
    if not any(message.role == "user" for message in window):
        return Extraction(())
    prompt = load_prompt(EXTRACTION_PROMPT)
    turns = request_turns(window, now=now, context_tokens=context_tokens, count=count)
    items = await model.structured(turns, EXTRACTION_SCHEMA, name=FORM_NAME, parse=read_facts)
    # After the answer: an unnamed model has its name only then.
    made_by = {"model": model.name, "prompt_version": prompt.version}
    fixed = {"confidence": WEAK_CONFIDENCE} if model.weak else {}
    return ground_facts(items, window, terms=terms, **made_by, **fixed)


def request_turns(
    window: Sequence[Message], *, now: datetime, context_tokens: int | None, count: Count
) -> list[Turn]:
    """The request: instructions, examples and the conversation in turns of their own. Pure.

    Where `context_tokens` leave little room, the examples stay out; what then is too long is cut.
    """
    prompt = load_prompt(EXTRACTION_PROMPT)
    room = None if context_tokens is None else conversation_tokens(context_tokens, count)
    shown = render_window(window, tokens=room, count=count)
    turns = prompt.render(conversation=shown, today=f"{now:%a %Y-%m-%d}")
    if context_tokens is not None and not _examples_fit(context_tokens, count):
        return [turns[0], turns[-1]]
    return turns


def conversation_tokens(context_tokens: int, count: Count) -> int:
    """The tokens that the conversation may take, so that the whole request has `context_tokens`."""
    turns = load_prompt(EXTRACTION_PROMPT).turns
    fixed = turns if _examples_fit(context_tokens, count) else (turns[0], turns[-1])
    return max(_LEAST_CONVERSATION_TOKENS, context_tokens - _fixed_tokens(fixed, count))


def _examples_fit(context_tokens: int, count: Count) -> bool:
    fixed = _fixed_tokens(load_prompt(EXTRACTION_PROMPT).turns, count)
    return context_tokens - fixed >= _ROOM_WORTH_EXAMPLES


def _fixed_tokens(turns: Sequence[Turn], count: Count) -> int:
    # Where a server knows no response_format, the schema stands in the prompt.
    schema = count(json.dumps(EXTRACTION_SCHEMA))
    return schema + sum(count(turn.content) + _TURN_TOKENS for turn in turns)


def read_facts(answer: Mapping[str, Any]) -> list[object]:
    """The items of the answer, unread. Raises ValueError for an answer without a list of facts."""
    items = answer.get("facts")
    if not isinstance(items, list):
        raise ValueError("no list of facts")
    return items


def ground_facts(
    items: Sequence[object], window: Sequence[Message], *, terms: Terms, **overrides: Any
) -> Extraction:
    """Reads the model's items one by one, keeps those that stand in the window and are not junk. Pure.

    `overrides` are fields of FactDraft that hold for all of them, as origin, model and prompt_version.
    """
    ground = Ground(window, terms)
    refused: Counter[Refusal] = Counter()
    drafts: dict[str, FactDraft] = {}
    for item in items:
        candidate = read_candidate(item)
        if candidate is None:
            refused["form"] += 1
            continue
        verdict = junk(candidate) or ground.sources(candidate)
        if isinstance(verdict, str):
            refused[verdict] += 1
        elif candidate.content.casefold() in drafts:
            refused["repeated"] += 1
        else:
            fields = asdict(candidate) | {"message_ids": verdict} | overrides
            drafts[candidate.content.casefold()] = FactDraft(**fields)
    return Extraction(tuple(drafts.values()), dict(refused))
