"""The context block of contract.md. Pure: what goes in comes out, in the user's language.

Every text that a person or a model wrote begins after a label on its line, and its further lines are indented,
so nothing inside a message can stand where a heading does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple, Protocol

from keepsake.models import CATEGORIES, Fact, Message

CONDENSED_CHARACTERS = 50  # requirements.md, M3
NAME_CHARACTERS = 64
RULE = "=" * 50

_INDENT = "  "
# What str.splitlines takes for the end of a line; a vertical tab starts a new line on a terminal as well.
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\S+")


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


class Line(NamedTuple):
    """A line of the block (or more, the further ones indented), and the headings that it stands under."""

    headings: tuple[str, ...]
    text: str


def render(parts: BlockParts, say: Say) -> str:
    """The block as text. Sections with nothing in them are left out."""
    by_category = sorted(parts.facts, key=lambda fact: (CATEGORIES.index(fact.category), fact.id))
    written: dict[str, None] = {}
    block: list[str] = []
    for section in lines(replace(parts, facts=by_category), say).values():
        for line in section:
            new = [heading for heading in line.headings if heading not in written]
            written.update(dict.fromkeys(new))
            block += [*new, line.text]
    return "\n".join([*block, RULE, say("block-footer"), RULE])


def lines(parts: BlockParts, say: Say) -> dict[str, list[Line]]:
    """The lines by the field of BlockParts that they are made from, one an item, in the order of the block."""

    def section(key: str, texts: Iterable[str]) -> list[Line]:
        return [Line((say(key),), text) for text in texts]

    return {
        "facts": [
            Line((say("block-profile"), f"[{say(f'category-{fact.category}')}]:"), _fact(fact, say))
            for fact in parts.facts
        ],
        "topics": section(
            "block-topics", (f"- {_one_line(title)} — {_one_line(hook)}" for title, hook in parts.topics)
        ),
        "summaries": section(
            "block-summary", (f"{made_at:%Y-%m-%d}: {indented(text)}" for made_at, text in parts.summaries)
        ),
        "stm": section("block-stm", (f"{speaker(m, say)}: {indented(m.content)}" for m in parts.stm)),
        "ltm": section("block-ltm", (f"{speaker(m, say)}: {condense(m.content)}" for m in parts.ltm)),
        "rag": section("block-rag", (_recalled(message, score, say) for message, score in parts.rag)),
    }


def speaker(message: Message, say: Say) -> str:
    """Who said it: the role, and the name where the chat has several people."""
    role = say("role-user" if message.role == "user" else "role-assistant")
    return f"{role} ({shown_name(message.sender)})" if message.sender else role


def shown_name(sender: str) -> str:
    """A sender's name as it is shown: on one line, the beginning of a long one."""
    return condense(sender, NAME_CHARACTERS)


def is_cut(text: str) -> bool:
    """Does `condense` leave something of this text out?"""
    return condense(text) != " ".join(text[: 2 * CONDENSED_CHARACTERS].split())


def condense(text: str, limit: int = CONDENSED_CHARACTERS) -> str:
    """The first `limit` characters on one line, cut at a word, with an ellipsis where anything was cut.

    A first word longer than that (or a language without spaces) is cut inside.
    """
    # So many words have more characters than the limit, and a text may be a megabyte.
    line = " ".join(word[0] for word in islice(_WORD.finditer(text), limit + 1))
    if len(line) <= limit:
        return line
    head = line[:limit]
    if line[limit] != " ":
        space = head.rfind(" ")
        head = head[:space] if space > 0 else head
    return head.rstrip() + "…"


def _fact(fact: Fact, say: Say) -> str:
    note = say("fact-confidence", confidence=f"{fact.confidence:.2f}", date=f"{fact.updated_at:%Y-%m-%d}")
    return f"- {_one_line(fact.content)} {note}"


def _recalled(message: Message, score: float, say: Say) -> str:
    when = f"{message.created_at:%Y-%m-%d}"
    return f"[{score:.2f}] {speaker(message, say)} ({when}): {indented(message.content)}"


def indented(text: str) -> str:
    """A text as it stands after its label: further lines begin with two spaces."""
    return _LINE_END.sub("\n" + _INDENT, text)


def _one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
