"""What of the memories enters the prompt when not all fit. Pure.

Whole items, best first. Memory (profile, topics, what was recalled) has its share of the block and all that history
does not need; history (the newest messages in full, summaries, older messages) has the rest. What does not fit is
left out; a message that alone would fill the block is shortened in its middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from keepsake.models import Message
from keepsake.prompt.block import BlockParts, Line, Say, indented, lines, render
from keepsake.prompt.tokens import MOST_CHARACTERS, estimate

_MEMORY, _HISTORY = 0.25, 0.45  # shares of the request (requirements.md, B1)
_ONE_MESSAGE_SHARE = 0.4  # of the block, that a single remembered message may take
_CUT = "\n[…]\n"

# Names of a section's lines and of what they were made from, by place.
_Place = tuple[str, int]


def fit(parts: BlockParts, tokens: int, say: Say) -> BlockParts:
    """The parts that fit into `tokens` together, as `render` writes them with `say`."""
    parts = _with_short_messages(parts, int(tokens * _ONE_MESSAGE_SHARE))
    by_section = lines(parts, say)

    def ordered(section: str, *, newest_first: bool = False) -> list[tuple[_Place, Line]]:
        placed = [((section, place), line) for place, line in enumerate(by_section[section])]
        return placed[::-1] if newest_first else placed

    memory = ordered("facts") + ordered("topics") + ordered("rag")
    history = [line for name in ("stm", "summaries", "ltm") for line in ordered(name, newest_first=True)]
    room = tokens - estimate(render(BlockParts(), say))
    # What all of history takes is memory's to leave, what it does not take is memory's to use.
    _, needed = _take(history, room)
    kept, spent = _take(memory, max(int(room * _MEMORY / (_MEMORY + _HISTORY)), room - needed))
    kept |= _take(history, room - spent)[0]
    chosen: dict[str, Any] = {
        section: [item for place, item in enumerate(getattr(parts, section)) if (section, place) in kept]
        for section in by_section
    }
    return replace(parts, **chosen)


def shorten(text: str, tokens: int, count: Callable[[str], int] = estimate) -> str:
    """`text` where it fits into `tokens`, else its beginning and end with a mark between them.

    `count` gives at least the tokens of `estimate`.
    """
    low, high = 0, min(len(text), max(tokens, 0) * MOST_CHARACTERS)
    if high == len(text) and count(text) <= tokens:
        return text
    while low < high:  # the most characters that fit; count grows with the text
        middle = (low + high + 1) // 2
        if count(_cut(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return _cut(text, low)


def _cut(text: str, characters: int) -> str:
    head = (characters + 1) // 2
    return text[:head] + _CUT + text[len(text) - (characters - head) :]


def _with_short_messages(parts: BlockParts, tokens: int) -> BlockParts:
    def short(message: Message) -> Message:
        return replace(
            message, content=shorten(message.content, tokens, lambda text: estimate(indented(text)))
        )

    return replace(
        parts, stm=[short(m) for m in parts.stm], rag=[(short(m), score) for m, score in parts.rag]
    )


def _take(placed: Iterable[tuple[_Place, Line]], room: int) -> tuple[set[_Place], int]:
    """Which of the lines fit into `room`, the first ones first, and what they take with their headings."""
    kept: set[_Place] = set()
    headings: set[str] = set()
    spent = 0
    for place, line in placed:
        new = [heading for heading in line.headings if heading not in headings]
        cost = sum(estimate(text + "\n") for text in (*new, line.text))
        if spent + cost <= room:
            kept.add(place)
            headings.update(new)
            spent += cost
    return kept, spent
