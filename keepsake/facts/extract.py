"""Facts out of a window of conversation: asks the model, keeps what is grounded, counts what is refused."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from keepsake.facts.asking import choose_form, request_turns
from keepsake.facts.candidate import (
    CONTENT_CHARACTERS,
    QUOTE_CHARACTERS,
    Candidate,
    cut_at_word,
    read_candidate,
)
from keepsake.facts.ground import Ground, Refusal, Terms, junk
from keepsake.facts.topics import worthy
from keepsake.facts.window import Count
from keepsake.llm.client import ChatModel
from keepsake.models import FactDraft, Message, TopicNote

FORM_NAME = "facts"
# A window has a dozen messages; an answer with more facts than this is a model gone astray.
MOST_FACTS = 32
# What a weak model says of its certainty means nothing. Above a guess (0.5): its quotes are checked.
WEAK_CONFIDENCE = 0.6
_OWN_WORD = 0.99
# "/remember that I…"
_THAT = re.compile(r"(?:that|что|rằng|là)\s+", re.IGNORECASE)


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
        verdict = _verdict(ground, candidate)
        if isinstance(verdict, str):
            refused[verdict] += 1
            continue
        candidate, sources = _named_fairly(verdict[0], terms), verdict[1]
        if candidate.content.casefold() in drafts:
            refused["repeated"] += 1
        else:
            fields = asdict(candidate) | {"message_ids": sources} | overrides
            drafts[candidate.content.casefold()] = FactDraft(**fields)
    return Extraction(tuple(drafts.values()), dict(refused))


def by_hand(text: str) -> FactDraft:
    """What a person asks to be remembered, as they say it."""
    line = " ".join(text.split())
    match = _THAT.match(line)
    content = line[match.end() :] if match else line
    return FactDraft(
        cut_at_word(content, CONTENT_CHARACTERS),
        (),
        importance=1.0,
        confidence=_OWN_WORD,
        vital=True,
        quote=line[:QUOTE_CHARACTERS],
        origin="by_hand",
    )


def _named_fairly(candidate: Candidate, terms: Terms) -> Candidate:
    """The candidate with what it says of its topic, as far as the fact bears that."""
    if candidate.topic is None:
        return candidate
    texts = [text for text in (candidate.content, candidate.quote, candidate.object) if text]
    note = worthy(TopicNote(candidate.topic, candidate.topic_title, candidate.topic_hook), texts, terms)
    return replace(candidate, topic_title=note.title, topic_hook=note.hook)


def _verdict(ground: Ground, candidate: Candidate) -> tuple[Candidate, tuple[int, ...]] | Refusal:
    """The candidate in its user's language with its messages, or why it is refused."""
    found = junk(candidate) or ground.sources(candidate)
    if isinstance(found, str):
        return found
    if ground.gives_away(candidate):
        return "secret"
    own = ground.in_own_language(candidate, found)
    return (own, found) if own is not None else "language"
