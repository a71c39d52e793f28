"""The context block of contract.md. Pure: what goes in comes out, in the user's language.

Every text that a person or a model wrote begins after a label on its line, and its further lines are indented,
so nothing inside a message can stand where a heading does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from keepsake.models import CATEGORIES, Fact, Message

CONDENSED_CHARACTERS = 50  # requirements.md, M3
RULE = "=" * 50

_INDENT = "  "
# What str.splitlines takes for the end of a line; a vertical tab starts a new line on a terminal as well.
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"\s+")


class Say(Protocol):
    """Gives the words of a key in the user's language, as `keepsake.locales.translate` does."""

    def __call__(self, key: str, **values: str | int | float) -> str: ...


@dataclass(frozen=True, slots=True)
class BlockParts:
    """What may stand in a block. Messages are oldest first, recalled ones best first with a score of 0–1."""

    facts: Sequence[Fact] = ()
    topics: Sequence[tuple[str, str]] = ()
    summaries: Sequence[tuple[datetime, str]] = ()
    stm: Sequence[Message] = ()
    ltm: Sequence[Message] = ()
    rag: Sequence[tuple[Message, float]] = ()


def render(parts: BlockParts, say: Say) -> str:
    """The block as text. Sections with nothing in them are left out."""
    sections = [
        (say("block-profile"), _profile(parts.facts, say)),
        (say("block-topics"), [f"- {_one_line(title)} — {_one_line(hook)}" for title, hook in parts.topics]),
        (
            say("block-summary"),
            [f"{made_at:%Y-%m-%d}: {_indented(text)}" for made_at, text in parts.summaries],
        ),
        (say("block-stm"), [f"{speaker(m, say)}: {_indented(m.content)}" for m in parts.stm]),
        (say("block-ltm"), [f"{speaker(m, say)}: {condense(m.content)}" for m in parts.ltm]),
        (say("block-rag"), [_recalled(message, score, say) for message, score in parts.rag]),
    ]
    lines: list[str] = []
    for heading, body in sections:
        if body:
            lines += [heading, *body]
    return "\n".join([*lines, RULE, say("block-footer"), RULE])


def speaker(message: Message, say: Say) -> str:
    """Who said it: the role, and the name where the chat has several people."""
    role = say("role-user" if message.role == "user" else "role-assistant")
    return f"{role} ({_one_line(message.sender)})" if message.sender else role


def condense(text: str, limit: int = CONDENSED_CHARACTERS) -> str:
    """The first `limit` characters on one line, cut at a word, with an ellipsis where anything was cut.

    A first word longer than that (or a language without spaces) is cut inside.
    """
    line = _one_line(text)
    if len(line) <= limit:
        return line
    head = line[:limit]
    if line[limit] != " ":
        space = head.rfind(" ")
        head = head[:space] if space > 0 else head
    return head.rstrip() + "…"


def _profile(facts: Sequence[Fact], say: Say) -> list[str]:
    lines: list[str] = []
    for category in CATEGORIES:
        held = [fact for fact in facts if fact.category == category]
        if held:
            lines.append(f"[{say(f'category-{category}')}]:")
        for fact in held:
            note = say(
                "fact-confidence", confidence=f"{fact.confidence:.2f}", date=f"{fact.updated_at:%Y-%m-%d}"
            )
            lines.append(f"- {_one_line(fact.content)} {note}")
    return lines


def _recalled(message: Message, score: float, say: Say) -> str:
    when = f"{message.created_at:%Y-%m-%d}"
    return f"[{score:.2f}] {speaker(message, say)} ({when}): {_indented(message.content)}"


def _indented(text: str) -> str:
    return _LINE_END.sub("\n" + _INDENT, text)


def _one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
