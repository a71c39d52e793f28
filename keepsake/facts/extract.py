"""Facts out of a window of conversation: asks the model, keeps what is grounded, counts what is refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from keepsake.facts.asking import choose_form, request_turns
from keepsake.facts.candidate import read_candidate
from keepsake.facts.ground import Ground, Refusal, Terms, junk
from keepsake.facts.window import Count
from keepsake.llm.client import ChatModel
from keepsake.models import FactDraft, Message

FORM_NAME = "facts"
# A window has a dozen messages; an answer with more facts than this is a model gone astray.
MOST_FACTS = 32
# What a weak model says of its certainty means nothing. Above a guess (0.5): its quotes are checked.
WEAK_CONFIDENCE = 0.6


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
    form = choose_form(context_tokens, count)
    # Counting, folding and stemming what was said may take a tenth of a second.
    turns = await asyncio.to_thread(
        request_turns, window, now=now, context_tokens=context_tokens, count=count
    )
    formed = await model.formed(turns, form.schema, name=FORM_NAME, parse=read_facts)
    made_by = {"model": formed.model, "prompt_version": form.prompt.version}
    fixed = {"confidence": WEAK_CONFIDENCE} if model.weak else {}
    return await asyncio.to_thread(ground_facts, formed.value, window, terms=terms, **made_by, **fixed)


def read_facts(answer: Mapping[str, Any]) -> list[object]:
    """The items of the answer, unread. Raises ValueError for an answer without a list of facts."""
    items = answer.get("facts")
    if not isinstance(items, list):
        raise ValueError("no list of facts")
    return items


def ground_facts(
    items: Sequence[object], window: Sequence[Message], *, terms: Terms, **overrides: Any
) -> Extraction:
    """Reads the model's first MOST_FACTS items, keeps those that stand in the window and are not junk. Pure.

    `overrides` are fields of FactDraft that hold for all of them, as origin, model and prompt_version.
    """
    ground = Ground(window, terms)
    refused: Counter[Refusal] = Counter()
    drafts: dict[str, FactDraft] = {}
    if len(items) > MOST_FACTS:
        refused["too_many"] = len(items) - MOST_FACTS
    for item in items[:MOST_FACTS]:
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
