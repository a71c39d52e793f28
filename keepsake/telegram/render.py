"""A model's Markdown, and plain text, as messages that Telegram takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyromark
from telegram import MessageEntity
from telegramify_markdown import MessageEntity as Entity
from telegramify_markdown import convert, split_entities
from telegramify_markdown.converter import STANDARD_OPTIONS

# Telegram counts a message's length in UTF-16 code units.
LONGEST = 4096
MOST_ENTITIES = 100


# Escaping a line of HTML shows what else is HTML behind it; deeper than this nobody writes.
_PASSES = 10
_TAG = re.compile(rb"<(?!/?tg-spoiler>)")


@dataclass(frozen=True, slots=True)
class Part:
    """One message: its text and where it is formatted."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


def markdown_parts(markdown: str) -> list[Part]:
    """The messages for an answer in Markdown; none for one that shows nothing."""
    return list(_fitted(*convert(tags_as_text(markdown)), LONGEST))


def plain_parts(text: str) -> list[Part]:
    """The messages for plain text, cut at line ends where there are any."""
    return [Part(chunk) for chunk, _ in split_entities(text, [], LONGEST) if chunk.strip()]


def tags_as_text(markdown: str) -> str:
    """The Markdown with `vector<int>` and `<your name>` as the words that they are.

    To Markdown they are HTML, which Telegram does not show. Code stays as it is, and so do spoilers.
    """
    for _ in range(_PASSES):
        source = markdown.encode()
        tags = [
            span["start"]
            for event, span in pyromark.events_with_range(markdown, options=STANDARD_OPTIONS)
            if isinstance(event, dict) and ("InlineHtml" in event or "Html" in event)
            if _TAG.match(source, span["start"], span["end"])
        ]
        if not tags:
            break
        starts = [0, *tags]
        pieces = [source[a:b] for a, b in zip(starts, [*tags, len(source)], strict=True)]
        markdown = b"\\".join(pieces).decode()
    return markdown


def _fitted(text: str, entities: list[Entity], longest: int) -> Iterator[Part]:
    """Parts of at most `longest` UTF-16 units, shorter where one would have too many entities."""
    for chunk, found in split_entities(text, entities, longest):
        if len(found) > MOST_ENTITIES and longest > MOST_ENTITIES:
            yield from _fitted(chunk, found, longest // 2)
        elif chunk.strip():
            yield Part(chunk, tuple(MessageEntity(**entity.to_dict()) for entity in found[:MOST_ENTITIES]))
