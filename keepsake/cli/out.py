"""What commands print: results on standard output, remarks on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime

from keepsake.locales import translate
from keepsake.models import Fact, Message

DONE, SOMETHING_OFF, WRONG_USE = 0, 1, 2


def say(text: str) -> None:
    """A line of the result. Where nobody reads it any more, it is dropped."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python would fail once more when it flushes standard output at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(value: object) -> None:
    say(json.dumps(value, ensure_ascii=False, indent=2))


def remark(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def fact_as_dict(fact: Fact) -> dict[str, object]:
    """A fact for JSON, times as ISO 8601 in UTC."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(fact).items()
    }


def fact_lines(facts: Iterable[Fact]) -> list[str]:
    return [
        f"{fact.id}. {_indented(fact.content)} ({fact.category}, {fact.status},"
        f" confidence {fact.confidence:.2f}, updated {fact.updated_at:%Y-%m-%d})"
        for fact in facts
    ]


def found_as_dict(message: Message, score: float) -> dict[str, object]:
    return {
        "id": message.id,
        "score": round(score, 4),
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        "sender": message.sender,
        "session_id": message.session_id,
    }


def found_line(message: Message, score: float, language: str) -> str:
    who = message.sender or translate(language, f"role-{message.role}")
    return f"[{score:.2f}] {_indented(who)} ({message.created_at:%Y-%m-%d}): {_indented(message.content)}"


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())
