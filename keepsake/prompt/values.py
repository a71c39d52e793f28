"""Exact values of a conversation, and whether a summary kept them and added none. Pure.

Numbers are compared by their digits: "12,500" and "12 500" are one, "05" and "5" are one. Names are words with a
capital inside a sentence; only invented ones are looked for, since what a name is differs from language to language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from keepsake.models import Message

MOST_VALUES = 40
# A message with more numbers than this is a table, a log or code: its numbers are not what the talk came to.
_MOST_IN_MESSAGE = 12
_THOUSANDS = re.compile(r"(?<=\d)[,.' \u00a0\u202f](?=\d{3}(?!\d))")
_DIGITS = re.compile(r"\d+")
_DATE = re.compile(r"\d+[./-]\d+[./-]\d+")
_SHOWN_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
# A word with a capital that follows a word or a comma, so begins no sentence.
_NAME = re.compile(r"(?<=[^\W\d_][ ,] )([^\W\d_][\w'’-]+)|(?<=[^\W\d_] )([^\W\d_][\w'’-]+)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_STEM = 4  # letters that a name keeps at most
# German writes every noun so: there a capital tells nothing.
_MOST_CAPITALS = 0.25


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a summary: values that it lost, and values that stand nowhere in its messages."""

    lost: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Is anything wrong?"""
        return bool(self.lost or self.invented)


def values(messages: Sequence[Message]) -> list[str]:
    """The numbers, as written, that a summary has to keep: those of the user's own messages, oldest first.

    None where there are more than MOST_VALUES: no summary holds them all, and recall has them.
    """
    found: dict[str, str] = {}
    for message in messages:
        if message.role != "user":
            continue
        shown = _SHOWN_NUMBER.findall(_plain(message.content))
        if len(shown) <= _MOST_IN_MESSAGE:
            found.update((number, number) for number in shown)
    return list(found) if len(found) <= MOST_VALUES else []


def judge(summary: str, messages: Sequence[Message]) -> Verdict:
    """Whether a summary kept the values of its messages and added none.

    Dates of the messages themselves are no inventions: the one who summarises was told them.
    """
    lost = [value for value in values(messages) if not numbers(value) <= numbers(summary)]
    known: set[str] = set()
    days = {message.created_at.date() for message in messages}
    for message in messages:
        known |= numbers(message.content) | numbers(message.sender or "")
    for day in days:
        known |= {str(day.year), str(day.day)}
        if _names_date(summary, day):
            known.add(str(day.month))
    invented = sorted(numbers(summary) - known)
    texts = [text for message in messages for text in (message.content, message.sender or "")]
    return Verdict(tuple(lost), (*invented, *_invented_names(summary, texts)))


def _names_date(summary: str, day: date) -> bool:
    """Does the summary name this day in digits alone? Then the month's number stands there too."""
    wanted = {str(day.year), str(day.month), str(day.day)}
    return any(numbers(written) == wanted for written in _DATE.findall(summary))


def numbers(text: str) -> set[str]:
    """The runs of digits of a text, without thousands separators and leading zeros."""
    return {run.lstrip("0") or "0" for run in _DIGITS.findall(_THOUSANDS.sub("", _plain(text)))}


def _invented_names(summary: str, texts: Iterable[str]) -> list[str]:
    names = [word for pair in _NAME.findall(summary) for word in pair if word and word[0].isupper()]
    if len(names) > len(_WORD.findall(summary)) * _MOST_CAPITALS:
        return []
    words = {word.casefold() for text in texts for word in _WORD.findall(text)}
    begun = {word[:length] for word in words for length in range(1, _STEM + 1)}
    return sorted({name for name in names if _stem(name) not in begun})


def _stem(name: str) -> str:
    """The part of a name that stays when its ending changes."""
    return name.casefold()[: min(_STEM, max(2, len(name) - 1))]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
