"""A model's Markdown, and plain text, as messages that Telegram takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyromark
from telegram import MessageEntity
from telegramify_markdown import MessageEntity as Entity
from telegramify_markdown import RenderConfig, convert, split_entities
from telegramify_markdown.converter import STANDARD_OPTIONS

# Telegram counts a message's length in UTF-16 code units.
LONGEST = 4096
MOST_ENTITIES = 100


# Longer texts are shown as they stand: what a model writes is bounded by ANSWER_TOKENS, and few set that so high.
_MOST_FORMATTED = 100_000
# A line that opens so many lists at once: each is indented under the one before it, which grows with the square.
_DEEP = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*){10}", re.MULTILINE)
_MOST_GROWTH = 2  # of a text, by what Markdown puts in: bullets, indentation, columns of tables
_ENOUGH = 2 * LONGEST  # characters of Markdown that fill a message, formats and all
_FENCE = re.compile(r"^ {0,3}(?:```|~~~).*\n", re.MULTILINE)

# Escaping a line of HTML shows what else is HTML behind it; deeper than this nobody writes.
_PASSES = 10
_TAG = re.compile(rb"<(?!/?tg-spoiler>)")

# Of other addresses Telegram drops the link, or makes http://readme.md/ and http://mailto:a@b.c/ of it.
_PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}"
_TAKEN = re.compile(rf"https?://[\w-]+(\.[\w-]+)+(:({_PORT}))?([/?#]\S*)?|tg://\w\S*", re.IGNORECASE)
_CODE = frozenset(("code", "pre"))
_QUOTES = frozenset(("blockquote", "expandable_blockquote"))


def _without_pictures() -> RenderConfig:
    config = RenderConfig.isolated()
    for level in range(1, 7):
        setattr(config.markdown_symbol, f"heading_level_{level}", "")
    return config


_CONFIG = _without_pictures()


@dataclass(frozen=True, slots=True)
class Part:
    """One message: its text and where it is formatted."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


def markdown_parts(markdown: str) -> list[Part]:
    """The messages for an answer in Markdown; none for one that shows nothing.

    The text as it stands, where Markdown would make far more of it. May take a second for a long one.
    """
    if len(markdown) > _MOST_FORMATTED or _DEEP.search(markdown):
        return plain_parts(markdown)
    text, entities = convert(tags_as_text(_whole(markdown)), config=_CONFIG)
    if len(text) > _MOST_GROWTH * len(markdown) + LONGEST:
        return plain_parts(markdown)
    text = _tell_addresses(text, entities)
    return list(_fitted(text, _nested(entities), LONGEST))


def first_part(markdown: str) -> Part | None:
    """What the first message will hold, as far as can be told without the rest; None: nothing."""
    return next(iter(markdown_parts(markdown[:_ENOUGH])), None)


def last_part(markdown: str) -> Part | None:
    """About what the last message will hold: the end of a long text. None: nothing."""
    parts = markdown_parts(_end_of(markdown))
    return parts[-1] if parts else None


def _end_of(markdown: str) -> str:
    """The last lines, from LONGEST characters on up to twice as many; in code they begin with its fence.

    It begins at the same place while the text grows by a message, so that what is shown does not jump.
    """
    start = (len(markdown) // LONGEST - 1) * LONGEST
    if start <= 0:
        return markdown
    start = markdown.find("\n", start, start + LONGEST) + 1 or start
    fences = _FENCE.findall(markdown, 0, start)
    return (fences[-1] if len(fences) % 2 else "") + markdown[start:]


def plain_parts(text: str, bold: Sequence[tuple[int, int]] = ()) -> list[Part]:
    """The messages for plain text, cut at line ends where there are any. `bold`: characters, from and to."""
    entities = [Entity("bold", _units(text[:at]), _units(text[at:end])) for at, end in bold]
    return list(_fitted(_whole(text), entities, LONGEST))


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


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _whole(text: str) -> str:
    """The text with U+FFFD in the place of half UTF-16 pairs, which nothing can be encoded with."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _tell_addresses(text: str, entities: list[Entity]) -> str:
    """Takes the links that cannot be ones from the entities; the text that returns tells their addresses."""
    code = [entity for entity in entities if entity.type in _CODE]
    links = [entity for entity in entities if entity.type == "text_link"]
    for link in links:  # an image in a link comes before it
        in_other = any(other is not link and _holds(other, link) for other in links)
        shown = any(_shown(text, piece).strip() for piece in _pieces(link, code))
        if shown and not in_other and _TAKEN.fullmatch(link.url or ""):
            continue
        entities.remove(link)
        address = (link.url or "").removeprefix("mailto:").removeprefix("tel:")
        if address and _shown(text, link) not in (address, link.url):
            text = _inserted(text, entities, link, f" ({address})")
    return text


def _inserted(text: str, entities: list[Entity], link: Entity, more: str) -> str:
    """The text with more behind a link; the entities move, and those around it grow."""
    end, units = link.offset + link.length, text.encode("utf-16-le")
    added = more.encode("utf-16-le")
    for entity in entities:
        if entity.offset >= end:
            entity.offset += len(added) // 2
        elif _holds(entity, link) and entity.type not in _CODE:
            entity.length += len(added) // 2
    return (units[: 2 * end] + added + units[2 * end :]).decode("utf-16-le")


def _nested(entities: list[Entity]) -> list[Entity]:
    """The entities as Telegram nests them: in code nothing, and no quote in a quote."""
    code = [entity for entity in entities if entity.type in _CODE]
    quotes: list[Entity] = []
    for entity in sorted(entities, key=_place):
        if entity.type in _QUOTES and not any(_holds(outer, entity) for outer in quotes):
            quotes.append(entity)
    others = [entity for entity in entities if entity.type not in _CODE | _QUOTES]
    pieces = [piece for entity in others for piece in _pieces(entity, code)]
    return sorted([*quotes, *code, *pieces], key=_place)


def _place(entity: Entity) -> tuple[int, int]:
    return entity.offset, -entity.length


def _pieces(entity: Entity, code: list[Entity]) -> Iterator[Entity]:
    """What of an entity is outside of code, which is given in its order."""
    at, end = entity.offset, entity.offset + entity.length
    for one in code:
        if at < one.offset + one.length and one.offset < end:
            if at < one.offset:
                yield entity.copy_with(offset=at, length=one.offset - at)
            at = one.offset + one.length
    if at < end:
        yield entity.copy_with(offset=at, length=end - at)


def _holds(outer: Entity, inner: Entity) -> bool:
    return outer.offset <= inner.offset and inner.offset + inner.length <= outer.offset + outer.length


def _shown(text: str, entity: Entity) -> str:
    units = text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def _fitted(text: str, entities: list[Entity], longest: int) -> Iterator[Part]:
    """Parts of at most `longest` UTF-16 units, shorter where one would have too many entities."""
    for chunk, found in split_entities(text, entities, longest):
        if len(found) > MOST_ENTITIES and longest > MOST_ENTITIES:
            yield from _fitted(chunk, found, longest // 2)
        elif chunk.strip():
            yield Part(chunk, tuple(MessageEntity(**entity.to_dict()) for entity in found[:MOST_ENTITIES]))
