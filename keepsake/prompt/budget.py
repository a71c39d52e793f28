"""What of the memories enters the prompt when not all fit (requirements.md, B1). Pure.

Whole items, best first. Memory (profile, topics, what was recalled) has its share of the block and all that history
does not need; history (the newest messages in full, summaries, older messages) has the rest. The best fact and the
best recalled message come before all else of memory. What does not fit is left out: the lowest score, the oldest
message. A message that alone would take most of its share is shortened in its middle, and of the newest messages
those that find no room in full are condensed as older ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from keepsake.models import Message
from keepsake.prompt.block import BlockParts, Line, Say, indented, lines, render, shown_name

_ONE_ITEM = 0.45  # of its section's share, that a single message may take where not everything fits
_CUT = "\n[…]\n"
_STEP = 0.98
_ROUNDING = 8  # parts that are counted alone are rounded up alone
_ROLE_TOKENS = 8
_LEAST_TOKENS = 24  # of a message; less says nothing
_LEAST_CHARACTERS = 8  # in a token of a text worth counting whole; no prose has more

Count = Callable[[str], int]

# Names of a section's lines and of what they were made from, by place.
_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Shares:
    """Percent of the request for each of its parts; they add up to 100."""

    system: int = 15
    memory: int = 25
    history: int = 45
    message: int = 15

    def of_memory(self, tokens: int) -> int:
        """Memory's part of what memory and history have together."""
        return tokens * self.memory // max(1, self.memory + self.history)


class _Placed(NamedTuple):
    place: _Place
    headings: tuple[tuple[str, int], ...]  # with what each costs
    cost: int


def fit(parts: BlockParts, tokens: int, say: Say, count: Count, shares: Shares) -> BlockParts:
    """The parts that fit into `tokens` together, as `render` writes them with `say` and `count` counts them.

    Facts and topics are best first, recalled messages too; other messages and summaries oldest first.
    """
    room = tokens - count(render(BlockParts(), say) + "\n")
    if room <= 0:
        return BlockParts()
    share = shares.of_memory(room)
    if _characters(parts) <= room * _LEAST_CHARACTERS and count(render(parts, say)) <= tokens - _ROUNDING:
        return parts
    # No message is longer than this, so that the best of memory and the newest of history always enter.
    short = _with_short_messages(parts, int(share * _ONE_ITEM), int((room - share) * _ONE_ITEM), count)
    whole = _Lines(short, say, count)
    _, needed = whole.take(whole.history(), room)
    memory_room = max(share, room - needed)
    kept, spent = whole.take(whole.memory(), memory_room)
    whole = _Lines(_condensing(whole, room - spent), say, count)
    of_history, _ = whole.take(whole.history(), room - spent)
    return _within(whole, [*kept, *of_history], tokens, say, count)


def shorten(text: str, tokens: int, count: Count) -> str:
    """`text` where it fits into `tokens`, else its beginning and end with a mark between them."""
    if len(text) <= max(tokens, 0) * _LEAST_CHARACTERS and count(text) <= tokens:
        return text
    characters = min(len(text), max(tokens, 0) * _LEAST_CHARACTERS)
    while characters > 0:
        taken = count(_cut(text, characters))
        if taken <= tokens:
            break
        # What remains has about as many characters a token; a little less, so that few steps are enough.
        characters = min(characters - 1, int(characters * tokens / taken * _STEP))
    return _cut(text, characters)


def section_tokens(parts: BlockParts, say: Say, count: Count) -> dict[str, int]:
    """Tokens of each section of the block, with its headings, by the field of BlockParts; and of the `frame`."""
    found = {}
    for name, section in lines(parts, say).items():
        headings = dict.fromkeys(heading for line in section for heading in line.headings)
        found[name] = count("".join(f"{text}\n" for text in (*headings, *(line.text for line in section))))
    return found | {"frame": count(render(BlockParts(), say) + "\n")}


class _Lines:
    """The lines of a block, each counted once."""

    def __init__(self, parts: BlockParts, say: Say, count: Count) -> None:
        self.parts = parts
        self.by_section = lines(parts, say)
        self._count = count
        self._headings: dict[str, int] = {}
        self._placed = {
            name: [self._counted(name, place, line) for place, line in enumerate(section)]
            for name, section in self.by_section.items()
        }

    def placed(self, section: str) -> list[_Placed]:
        return self._placed[section]

    def memory(self) -> list[_Placed]:
        """Best first: the first fact and the first recalled message lead, then what is vital and what there is."""
        facts, topics, rag = (self._placed[name] for name in ("facts", "topics", "rag"))
        vital = [item for item, fact in zip(facts[1:], self.parts.facts[1:], strict=True) if fact.vital]
        others = [item for item in facts[1:] if item not in vital]
        return facts[:1] + rag[:1] + vital + topics + others + rag[1:]

    def history(self) -> list[_Placed]:
        """Newest first: messages in full, summaries, condensed messages."""
        return [item for name in ("stm", "summaries", "ltm") for item in reversed(self._placed[name])]

    def take(self, items: Iterable[_Placed], room: int) -> tuple[list[_Place], int]:
        """Which of the lines fit into `room`, the first ones first, and what they take with their headings."""
        kept: list[_Place] = []
        written: set[str] = set()
        spent = 0
        for item in items:
            new = [(text, tokens) for text, tokens in item.headings if text not in written]
            cost = item.cost + sum(tokens for _, tokens in new)
            if spent + cost <= room:
                kept.append(item.place)
                written.update(text for text, _ in new)
                spent += cost
        return kept, spent

    def _counted(self, section: str, place: int, line: Line) -> _Placed:
        for heading in line.headings:
            if heading not in self._headings:
                self._headings[heading] = self._count(heading + "\n")
        headings = tuple((heading, self._headings[heading]) for heading in line.headings)
        return _Placed((section, place), headings, self._count(line.text + "\n"))


def _with_short_messages(parts: BlockParts, recalled: int, recent: int, count: Count) -> BlockParts:
    def short(message: Message, tokens: int) -> Message:
        # Its name, date and score stand before it.
        room = max(tokens - _label(message, count), _LEAST_TOKENS)
        text = shorten(message.content, room, lambda cut: count(indented(cut)))
        return replace(message, content=text)

    return replace(
        parts,
        stm=[short(message, recent) for message in parts.stm],
        rag=[(short(message, recalled), score) for message, score in parts.rag],
    )


def _label(message: Message, count: Count) -> int:
    return count(f"[0.00]  () (2026-01-01): {shown_name(message.sender or '')}\n") + _ROLE_TOKENS


def _characters(parts: BlockParts) -> int:
    """Of the messages that stand there in full."""
    return sum(len(message.content) for message in (*parts.stm, *(found for found, _ in parts.rag)))


def _condensing(whole: _Lines, room: int) -> BlockParts:
    """The parts with those of the newest messages that do not fit in full among the older ones."""
    parts, fitting, spent = whole.parts, 0, 0
    for item in reversed(whole.placed("stm")):
        spent += item.cost + (0 if fitting else sum(tokens for _, tokens in item.headings))
        if spent > room:
            break
        fitting += 1
    out = len(parts.stm) - fitting
    return replace(parts, stm=parts.stm[out:], ltm=[*parts.ltm, *parts.stm[:out]])


def _within(whole: _Lines, kept: Sequence[_Place], tokens: int, say: Say, count: Count) -> BlockParts:
    """The parts of the places, without the last of them where the block as a whole has more than its lines."""
    places = list(kept)
    while True:
        chosen: dict[str, Any] = {
            section: [
                item
                for place, item in enumerate(getattr(whole.parts, section))
                if (section, place) in set(places)
            ]
            for section in whole.by_section
        }
        parts = replace(whole.parts, **chosen)
        if not places or count(render(parts, say)) <= tokens - _ROUNDING:
            return parts
        places.pop()


def _cut(text: str, characters: int) -> str:
    head = (characters + 1) // 2
    return text[:head] + _CUT + text[len(text) - (characters - head) :]
