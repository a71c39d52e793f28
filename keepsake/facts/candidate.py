"""A fact as the model wrote it, read with tolerance: a field that is unusable is left out, not the fact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args

from keepsake.facts.topics import HOOK_CHARACTERS, TITLE_CHARACTERS, read_slug
from keepsake.models import CATEGORIES, Category, FactType, TopicNote
from keepsake.text import storable

CONTENT_CHARACTERS = 200
# A quote longer than this is a copied message, not the words that say so.
QUOTE_CHARACTERS = 1000
_NAME_CHARACTERS = 200
_TYPES: tuple[FactType, ...] = get_args(FactType)
_MIDDLE = 0.5
# Of a model that says nothing of its certainty: its quotes are checked, so it is more than a guess (0.5).
_UNSAID = 0.7
_NEVER_YEAR = 3000  # a date beyond is no date but "for ever"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that is not grounded yet. Fields as in FactDraft."""

    content: str
    quote: str | None = None
    message_ids: tuple[int, ...] = ()
    category: Category = "other"
    type: FactType = "fact"
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    topic: str | None = None
    topic_title: str | None = None
    topic_hook: str | None = None
    importance: float = _MIDDLE
    confidence: float = _UNSAID
    valid_until: datetime | None = None


def read_candidate(item: object) -> Candidate | None:
    """One item of the model's `facts`; None without content. All other fields may be missing or wrong."""
    if not isinstance(item, Mapping):
        return None
    content = _text(item.get("content"))
    if content is None:
        return None
    category, type_ = _name(item.get("category")), _name(item.get("type"))
    return Candidate(
        content=cut_at_word(content, CONTENT_CHARACTERS),
        quote=_text(item.get("quote"), QUOTE_CHARACTERS),
        message_ids=read_ids(item.get("message_ids")),
        category=category if category in CATEGORIES else "other",
        type=type_ if type_ in _TYPES else "fact",
        subject=_text(item.get("subject"), _NAME_CHARACTERS),
        predicate=_text(item.get("predicate"), _NAME_CHARACTERS),
        object=_text(item.get("object"), _NAME_CHARACTERS),
        **_topic(item.get("topic")),
        importance=_share(item.get("importance")),
        confidence=_share(item.get("confidence"), _UNSAID),
        valid_until=_date(item.get("valid_until")),
    )


def cut_at_word(text: str, most: int) -> str:
    """At most `most` characters, cut after a word where there is one, with an ellipsis for the rest."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    at = head.rfind(" ")
    # Chinese has no spaces, and an endless word must not leave nothing.
    return (head[:at] if at > most // 2 else head).rstrip(" ,;:.") + "…"


def _text(value: object, most: int | None = None) -> str | None:
    """One line of storable text, None for nothing. JSON can carry NUL and halves of surrogate pairs."""
    if not isinstance(value, str):
        return None
    line = " ".join(storable(value).split())
    return (line if most is None else line[:most]) or None


def _name(value: object) -> str:
    return value.strip().casefold() if isinstance(value, str) else ""


def read_ids(value: object) -> tuple[int, ...]:
    """The whole numbers of a list, or a single one; what is none is left out."""
    items = value if isinstance(value, list) else [value]
    return tuple(id_ for id_ in map(_id, items) if id_ is not None)


def _id(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_topic(value: object) -> TopicNote | None:
    """A topic as a model names it, {"slug", "title", "hook"} or the slug alone; None without a slug."""
    given = value if isinstance(value, Mapping) else {"slug": value}
    title = _text(given.get("title"), TITLE_CHARACTERS)
    slug = read_slug(_text(given.get("slug"), _NAME_CHARACTERS) or title or "")
    return TopicNote(slug, title, _text(given.get("hook"), HOOK_CHARACTERS)) if slug is not None else None


def _topic(value: object) -> dict[str, Any]:
    note = read_topic(value)
    if note is None:
        return {}
    return {"topic": note.slug, "topic_title": note.title, "topic_hook": note.hook}


def _share(value: Any, otherwise: float = _MIDDLE) -> float:
    """A number between 0 and 1, `otherwise` for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return otherwise
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return otherwise
    return otherwise if math.isnan(number) else min(1.0, max(0.0, number))


def _date(value: object) -> datetime | None:
    """The last day on which the fact holds, as the midnight UTC it begins with; None for what is no date."""
    if not isinstance(value, str):
        return None
    try:
        day = datetime.strptime(value.strip()[:10], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return day if day.year < _NEVER_YEAR else None
