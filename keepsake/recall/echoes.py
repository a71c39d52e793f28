"""What only repeats does not fill the results: the question itself, asked before, and the same words again. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keepsake.models import Message

_QUESTION = re.compile(r"[?？]\s*$")
_NOT_WORDS = re.compile(r"[\W_]+")

Found = tuple[Message, float]


def without_echoes(ranked: Sequence[Found], question: str) -> list[Found]:
    """The results, best first, each wording once, and the same question asked before behind all others.

    Case, spaces and punctuation make no difference. A question that was asked before says nothing about its answer,
    and each time it is asked it would stand in the way of it once more.
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
        if wording == asked:
            echoes.append((message, score))
        else:
            kept.append((message, score))
    least = kept[-1][1] if kept else 1.0
    return kept + [(message, min(score, least)) for message, score in echoes]


def _wording(text: str) -> str:
    return _NOT_WORDS.sub(" ", text.casefold()).strip() or text
