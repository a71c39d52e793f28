"""A model's Markdown, and plain text, as messages that Telegram takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from telegram import MessageEntity
from telegramify_markdown import MessageEntity as Entity
from telegramify_markdown import convert, split_entities

# Telegram counts a message's length in UTF-16 code units.
LONGEST = 4096
MOST_ENTITIES = 100


@dataclass(frozen=True, slots=True)
class Part:
    """One message: its text and where it is formatted."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


def markdown_parts(markdown: str) -> list[Part]:
    """The messages for an answer in Markdown; none for one that shows nothing."""
    return list(_fitted(*convert(markdown), LONGEST))


def plain_parts(text: str) -> list[Part]:
    """The messages for plain text, cut at line ends where there are any."""
    return [Part(chunk) for chunk, _ in split_entities(text, [], LONGEST) if chunk.strip()]


def _fitted(text: str, entities: list[Entity], longest: int) -> Iterator[Part]:
    """Parts of at most `longest` UTF-16 units, shorter where one would have too many entities."""
    for chunk, found in split_entities(text, entities, longest):
        if len(found) > MOST_ENTITIES and longest > MOST_ENTITIES:
            yield from _fitted(chunk, found, longest // 2)
        elif chunk.strip():
            yield Part(chunk, tuple(MessageEntity(**entity.to_dict()) for entity in found[:MOST_ENTITIES]))
