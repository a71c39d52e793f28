"""What of the memories enters the prompt when not all fit. Pure.

Whole items, best first: the profile, then the newest messages in full, then what was recalled, then the older
messages. What does not fit is left out; a message that alone would fill the block is shortened in its middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from keepsake.models import Message
from keepsake.prompt.block import CONDENSED_CHARACTERS, BlockParts

T = TypeVar("T")
Count = Callable[[str], int]

SYSTEM_SHARE = 0.15  # of the request, for persona and rules (requirements.md, B1)
MESSAGE_SHARE = 0.5  # the most that the new message may take before it is shortened
_ONE_MESSAGE_SHARE = 0.4  # of the block, that a single remembered message may take
_LINE_OVERHEAD = "- [0.00] Assistant (2026-01-01): (confidence 0.00, updated 2026-01-01)\n"
_HEADINGS_TOKENS = 150
_CUT = "\n[…]\n"


def block_tokens(context_tokens: int, message: str, count: Count) -> int:
    """What is left for the block beside persona, rules and the new message."""
    taken = min(count(message), int(context_tokens * MESSAGE_SHARE))
    return max(int(context_tokens * (1 - SYSTEM_SHARE)) - taken, 0)


def fit_message(context_tokens: int, message: str, count: Count) -> str:
    """The new message, shortened in its middle where it alone would take more than its share."""
    return shorten(message, int(context_tokens * MESSAGE_SHARE), count)


def fit(parts: BlockParts, tokens: int, count: Count) -> BlockParts:
    """The parts that fit into `tokens` together."""
    left = tokens - _HEADINGS_TOKENS
    overhead = count(_LINE_OVERHEAD)
    longest = max(int(tokens * _ONE_MESSAGE_SHARE), 1)

    def take(items: Sequence[T], cost: Callable[[T], int]) -> list[T]:
        nonlocal left
        taken = []
        for item in items:
            spent = cost(item) + overhead
            if spent <= left:
                taken.append(item)
                left -= spent
        return taken

    def shortened(message: Message) -> Message:
        return replace(message, content=shorten(message.content, longest, count))

    facts = take(parts.facts, lambda fact: count(fact.content))
    stm = take([shortened(m) for m in reversed(parts.stm)], lambda m: count(m.content))
    rag = take([(shortened(m), score) for m, score in parts.rag], lambda pair: count(pair[0].content))
    ltm = take(list(reversed(parts.ltm)), lambda m: count(m.content[:CONDENSED_CHARACTERS]))
    return replace(parts, facts=facts, stm=stm[::-1], rag=rag, ltm=ltm[::-1])


def shorten(text: str, tokens: int, count: Count) -> str:
    """`text` where it fits into `tokens`, else its beginning and end with a mark between them."""
    if count(text) <= tokens:
        return text
    low, high = 0, len(text)
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
