"""What a model is asked for in a consolidation, and how its answer is read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from keepsake.facts.asking import FACT_FIELDS, Form, closed
from keepsake.facts.candidate import CONTENT_CHARACTERS, cut_at_word, read_ids, read_topic
from keepsake.facts.window import Count, render_window
from keepsake.llm.client import Turn
from keepsake.llm.prompts import CONSOLIDATION_PROMPT, load_prompt
from keepsake.models import Fact, Message, TopicNote

FORM_NAME = "consolidation"
# Less room than this for facts and conversation says too little.
LEAST_TOKENS = 300
MOST_ITEMS = 60  # of each kind in one answer; more is a model gone astray
_FACTS_SHARE = 0.45  # of the room, where both do not fit
_NOTHING = "(none)"

_IDS = {"type": "array", "items": {"type": "integer"}}
_TEXT = {"type": "string"}


def _list(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": closed(properties)}


CONSOLIDATION_SCHEMA = closed(
    {
        "new": _list(FACT_FIELDS),
        "merge": _list({"ids": _IDS, "content": _TEXT}),
        "supersede": _list({"id": {"type": "integer"}, "by": {"type": "integer"}}),
        "forget": _IDS,
        "topics": _list({"slug": _TEXT, "title": _TEXT, "hook": _TEXT, "fact_ids": _IDS}),
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wants done. Nothing of it is checked yet but its form; `new` is unread."""

    new: Sequence[object] = ()
    merges: Sequence[tuple[tuple[int, ...], str]] = ()
    supersedes: Sequence[tuple[int, int]] = ()
    forgets: Sequence[int] = ()
    topics: Sequence[tuple[TopicNote, tuple[int, ...]]] = ()


@cache
def form() -> Form:
    """The one way to ask."""
    return Form(load_prompt(CONSOLIDATION_PROMPT), CONSOLIDATION_SCHEMA, LEAST_TOKENS)


def facts_shown(facts: Sequence[Fact], topics: Mapping[int, str], *, tokens: int, count: Count) -> str:
    """The facts, a line each, the newest first as far as they fit, vital ones before them; `topics` by fact id."""
    lines = []
    for fact in sorted(facts, key=lambda fact: (not fact.vital, -fact.updated_at.timestamp(), -fact.id)):
        line = f"{fact.id} [{topics.get(fact.id, fact.category)}] {fact.updated_at:%Y-%m-%d}: "
        line += " ".join(fact.content.split())
        tokens -= count(line + "\n")
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines) or _NOTHING


def facts_room(facts: Sequence[Fact], room: int) -> int:
    """The tokens that facts may take of `room`, which the conversation shares."""
    return int(room * _FACTS_SHARE) if facts else 0


def request_turns(
    shown: str, window: Sequence[Message], *, now: datetime, tokens: int, count: Count
) -> list[Turn]:
    """The request: instructions, then facts and conversation, of which long messages are cut."""
    conversation = render_window(window, tokens=tokens, count=count) if window else _NOTHING
    return form().prompt.render(today=f"{now:%a %Y-%m-%d}", facts=shown, conversation=conversation)


def read_answer(answer: Mapping[str, Any]) -> Answer:
    """The answer, what is unusable left out. Raises ValueError where it has none of the lists."""
    names = ("new", "merge", "supersede", "forget", "topics")
    lists = {name: answer[name] for name in names if isinstance(answer.get(name), list)}
    if not lists:
        raise ValueError("no list of what is to be done")
    items = {name: lists.get(name, [])[:MOST_ITEMS] for name in names}
    merges = [item for item in map(_merge, items["merge"]) if item is not None]
    supersedes = [item for item in map(_supersede, items["supersede"]) if item is not None]
    topics = [item for item in map(_topic, items["topics"]) if item is not None]
    return Answer(items["new"], merges, supersedes, read_ids(items["forget"]), topics)


def _merge(item: object) -> tuple[tuple[int, ...], str] | None:
    if not isinstance(item, Mapping):
        return None
    ids = tuple(sorted(set(read_ids(item.get("ids")))))
    content = item.get("content")
    line = " ".join(content.split()) if isinstance(content, str) else ""
    return (ids, cut_at_word(line, CONTENT_CHARACTERS)) if len(ids) > 1 else None


def _supersede(item: object) -> tuple[int, int] | None:
    if not isinstance(item, Mapping):
        return None
    ids = (*read_ids(item.get("id"))[:1], *read_ids(item.get("by"))[:1])
    return (ids[0], ids[1]) if len(ids) == 2 else None


def _topic(item: object) -> tuple[TopicNote, tuple[int, ...]] | None:
    note = read_topic(item) if isinstance(item, Mapping) else None
    ids = read_ids(item.get("fact_ids")) if isinstance(item, Mapping) else ()
    return (note, ids) if note is not None and ids else None
