"""The part of a message around the words that were looked for. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from keepsake.index.terms import analyse, places
from keepsake.recall.question import TERMS_MAX, TEXT_MAX

LENGTH = 160  # characters
LOOKED_AT = 100_000  # characters of a message in which the words are looked for
FOUND_MAX = 1_000  # places of the words in one message
MARKS_MAX = 15  # Telegram takes 100 in one message

_CUT = "…"
_BEFORE = 1 / 3  # of the room that the words leave goes before them; what follows says more

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Snippet:
    """One line of a message. `marks`: where in it words stand that were looked for, in characters, in order."""

    text: str
    marks: tuple[Span, ...] = ()


def query_terms(query: str) -> frozenset[str]:
    """The terms of a question that `snippet` looks for."""
    return frozenset(analyse(query[:TEXT_MAX])[:TERMS_MAX])


def snippet(content: str, terms: Collection[str] = (), length: int = LENGTH) -> Snippet:
    """The `length` characters of a text that hold most of `terms`, else its beginning, on one line.

    Cut between words where there are any, with an ellipsis for what is left out, which does not count.
    """
    line = " ".join(unicodedata.normalize("NFC", content[:LOOKED_AT]).split())
    found = _found(line, frozenset(terms))
    begin, end = _window(line, found, length)
    lead = _CUT if begin > 0 else ""
    tail = _CUT if end < len(line) or len(content) > LOOKED_AT else ""
    shift = len(lead) - begin
    inside = [(at + shift, to + shift) for at, to, _ in found if begin <= at and to <= end]
    text = f"{lead}{line[begin:end]}{tail}"
    return Snippet(text, tuple(_joined(text, inside))[:MARKS_MAX])


def _found(line: str, terms: frozenset[str]) -> list[tuple[int, int, frozenset[str]]]:
    """Where the terms stand. A single character of a longer Chinese word counts only where nothing else stands."""
    if not terms:
        return []
    here = ((at, to, frozenset(held) & terms) for at, to, held in places(line))
    matches = list(islice((match for match in here if match[2]), FOUND_MAX))
    longer = "".join(term for term in terms if len(term) > 1)
    whole = [match for match in matches if match[1] - match[0] > 1 or line[match[0]] not in longer]
    return whole or matches


def _window(line: str, found: list[tuple[int, int, frozenset[str]]], length: int) -> Span:
    """The part of the line that is shown: where most different terms stand, the first such place."""
    if len(line) <= length:
        return 0, len(line)
    first, last = _densest(found, length)
    begin = first - int((length - (last - first)) * _BEFORE) if last > length else 0
    begin = max(0, min(begin, len(line) - length))
    return _at_words(line, begin, begin + length, first, last)


def _densest(found: list[tuple[int, int, frozenset[str]]], length: int) -> Span:
    """From the first word of the part with most different terms to the one with which it has them all."""
    best, most = (0, 0), 0
    for start, (at, _, _) in enumerate(found):
        held: set[str] = set()
        for _, to, terms in found[start:]:
            if to - at > length:
                break
            held |= terms
            if len(held) > most:
                best, most = (at, to), len(held)
    return best


def _at_words(line: str, begin: int, end: int, first: int, last: int) -> Span:
    """The window without the halves of words at its ends, as long as the words from `first` to `last` stay."""
    if begin > 0 and line[begin - 1] != " ":
        space = line.find(" ", begin, min(first + 1, (begin + end) // 2))
        begin = space + 1 if space >= 0 else begin
    begin += line[begin] == " "
    if end < len(line) and line[end] != " ":
        space = line.rfind(" ", max(last, (begin + end) // 2), end)
        end = space if space >= 0 else end
    return begin, end - (line[end - 1] == " ")


def _joined(text: str, spans: list[Span]) -> Iterator[Span]:
    """The spans in one where they touch or overlap, or only a space is between them."""
    current: Span | None = None
    for at, to in spans:
        if current is not None and (at <= current[1] or text[current[1] : at] == " "):
            current = (current[0], max(current[1], to))
            continue
        if current is not None:
            yield current
        current = (at, to)
    if current is not None:
        yield current
