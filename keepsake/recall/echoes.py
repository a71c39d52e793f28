"""What only repeats does not fill the results: the question itself, asked before, and the same words again. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from keepsake.models import Message

_QUESTION = re.compile(r"[?？]\s*$")
_NOT_WORDS = re.compile(r"[\W_]+")

Found = tuple[Message, float]


def without_echoes(ranked: Iterable[Found], question: str, limit: int) -> list[Found]:
    """The first `limit` results, each wording once, and the same question asked before behind all others.

    `ranked` is best first and read no further than needed. Case, spaces and punctuation make no difference. A question
    that was asked before says nothing about its answer, and each time it is asked it would stand in its way once more.
    """
    asked = _wording(question) if _QUESTION.search(question) else None
    seen: set[str] = set()
    kept: list[Found] = []
    echoes: list[Found] = []
    for message, score in ranked:
        wording = _wording(message.content)
        if wording in seen:
            continue
        seen.add(wording)
        (echoes if wording == asked else kept).append((message, score))
        if len(kept) == limit:
            return kept
    least = kept[-1][1] if kept else 1.0
    return [*kept, *((message, min(score, least)) for message, score in echoes)][:limit]


def _wording(text: str) -> str:
    return _NOT_WORDS.sub(" ", text.casefold()).strip() or text
