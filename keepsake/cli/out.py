"""What commands print: results on standard output, remarks on standard error."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from keepsake.errors import KeepsakeError
from keepsake.models import Fact, FactChange, Message
from keepsake.recall.snippet import snippet

DONE, SOMETHING_OFF, WRONG_USE = 0, 1, 2

_STEERING = re.compile(r"[\x7f-\x9f]")  # control characters that JSON may hold as they are


class OutputError(KeepsakeError):
    """The result could not be written."""


def ready_streams() -> None:
    """Makes the standard streams take any text, and stand-ins for those that the caller has closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and mode == "w":
            stream.reconfigure(errors="replace")


def end_output(status: int) -> int:
    """Writes out what is left; the exit status, which says so where that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output()
        if status == DONE and not isinstance(error, BrokenPipeError):
            remark(f"keepsake: {_not_written(error)}")
            return SOMETHING_OFF
    return status


def say(text: str) -> None:
    """A line of the result, without control characters. Where nobody reads it any more, it is dropped.

    Raises OutputError where it cannot be written.
    """
    from keepsake.terminal.chat import printable

    try:
        print(printable(text), flush=True)
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        _drop_output()
        raise OutputError(_not_written(error)) from error


def say_json(value: object) -> None:
    in_ascii = codecs.lookup(sys.stdout.encoding).name != "utf-8"
    text = json.dumps(value, ensure_ascii=in_ascii, indent=2)
    say(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def remark(text: str) -> None:
    with suppress(OSError):  # nobody is there to be told
        print(text, file=sys.stderr, flush=True)


def _not_written(error: OSError) -> str:
    return f"standard output cannot be written ({error.strerror})"


def _drop_output() -> None:
    # Python would fail once more when it flushes standard output at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fact_as_dict(fact: Fact, history: Iterable[FactChange] | None = None) -> dict[str, object]:
    """A fact for JSON, times as ISO 8601 in UTC; with `history`, what happened to it."""
    found = _as_dict(fact)
    if history is not None:
        found["history"] = [_as_dict(change) for change in history if change.fact_id == fact.id]
    return found


def fact_lines(facts: Iterable[Fact], history: Iterable[FactChange] = ()) -> list[str]:
    """A line a fact, and below it one for each change of it."""
    changes: dict[int, list[str]] = {}
    for change in history:
        changes.setdefault(change.fact_id, []).append(_change_line(change))
    lines = []
    for fact in facts:
        lines.append(
            f"{fact.id}. {_indented(fact.content)} ({fact.category}, {fact.status},"
            f" confidence {fact.confidence:.2f}, updated {fact.updated_at:%Y-%m-%d}{_archived(fact)})"
        )
        lines += changes.get(fact.id, [])
    return lines


def _archived(fact: Fact) -> str:
    return ", archived" if fact.archived_ids and fact.archived_ids == fact.message_ids else ""


def _change_line(change: FactChange) -> str:
    by = f" by {change.other_id}" if change.other_id is not None else ""
    guess = f": {_indented(change.to_value or '')}" if change.what == "doubted" else ""
    noted = f"({change.made_by}, noted {change.recorded_at:%Y-%m-%d})"
    return f"    {change.valid_at:%Y-%m-%d} {change.what}{by} {noted}{guess}"


def _as_dict(record: Fact | FactChange) -> dict[str, object]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(record).items()
    }


def found_as_dict(message: Message, score: float, terms: Collection[str]) -> dict[str, object]:
    return {
        "id": message.id,
        "score": round(score, 4),
        "role": message.role,
        "content": message.content,
        "snippet": snippet(message.content, terms).text,
        "created_at": message.created_at.isoformat(),
        "sender": message.sender,
        "session_id": message.session_id,
    }


def found_line(message: Message, score: float, terms: Collection[str]) -> str:
    """Score, who said it, when, and the part of it that matches, on one line."""
    who = message.sender or message.role.capitalize()
    part = snippet(message.content, terms).text
    return f"[{score:.2f}] {_indented(who)} ({message.created_at:%Y-%m-%d}): {part}"


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())
