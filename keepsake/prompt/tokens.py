"""How many tokens a text is, without a network.

By the model's own table where its name tells which, else by o200k; times what the endpoint's own counts have taught
(`calibration`). The tables are loaded at first use (up to half a second, 36–68 MB each), after that a line of the block
takes a few microseconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Count = Callable[[str], int]
"""Tokens of a text."""

Table = Literal["o200k_base", "cl100k_base", "qwen3", "llama3"]
O200K: Table = "o200k_base"

# The formula that OpenAI gives for its chats: what a turn costs beside its text, and what begins the answer.
TURN_TOKENS = 4
ANSWER_START_TOKENS = 3

# Looked for in a model's name, the first that fits. Later families than these have tables of their own.
_FAMILIES: tuple[tuple[re.Pattern[str], Table], ...] = (
    (re.compile(r"gpt-?(4o|4\.[1-9]|[5-9]|oss)|(^|[/:])o[1-9](-|$)"), O200K),
    (re.compile(r"gpt-?(4|3\.?5)"), "cl100k_base"),
    (re.compile(r"qwen-?(2\.5|2|3)(?![.]?\d)|qwq"), "qwen3"),
    (re.compile(r"llama-?v?3(?!\d)"), "llama3"),
)

_ASCII, _CYRILLIC, _CJK, _OTHER = 4.2, 3.0, 1.35, 1.5  # characters a token
_MARGIN = 1.25


def table_of(model: str) -> Table | None:
    """The table of a model's family, told by its name; None where that is not known."""
    name = model.casefold()
    return next((table for pattern, table in _FAMILIES if pattern.search(name)), None)


@dataclass(frozen=True, slots=True)
class Measure:
    """Counts tokens as a model does: by a table, times a factor."""

    table: Table = O200K
    factor: float = 1.0

    def count(self, text: str) -> int:
        """Tokens of a text, rounded up."""
        return math.ceil(_counted(self.table, text) * self.factor)

    def request(self, texts: Iterable[str]) -> int:
        """Tokens of a request with these turns."""
        return request_tokens(texts, self.count)


def request_tokens(texts: Iterable[str], count: Count) -> int:
    """Tokens of a request whose turns have these texts."""
    return sum(count(text) + TURN_TOKENS for text in texts) + ANSWER_START_TOKENS


def load_table(table: Table = O200K) -> None:
    """Loads a table now, so that nobody waits for it later. Holds all threads for half a second."""
    _encoding(table)


def estimate(text: str) -> int:
    """Tokens that `text` takes at most, reckoned without a table, as far as can be told.

    Characters a token by script, over the tokenizers of several model families, and a quarter more to be safe.
    """
    if text.isascii():
        return math.ceil(len(text) / _ASCII * _MARGIN)
    ascii_ = cyrillic = cjk = 0
    for character in text:
        code = ord(character)
        if code < 0x80:
            ascii_ += 1
        elif 0x400 <= code < 0x500:
            cyrillic += 1
        elif 0x3040 <= code < 0xA000 or 0xAC00 <= code < 0xD7B0 or 0xF900 <= code < 0xFB00:
            cjk += 1
    other = len(text) - ascii_ - cyrillic - cjk
    return math.ceil((ascii_ / _ASCII + cyrillic / _CYRILLIC + cjk / _CJK + other / _OTHER) * _MARGIN)


def _counted(table: Table, text: str) -> int:
    encoding = _encoding(table)
    return int(encoding.count(text)) if encoding is not None else estimate(text)


@cache
def _encoding(table: Table) -> Any:
    """The table, None where its package has no wheel for this Python."""
    try:
        import quicktok
    except ImportError:
        return None
    return quicktok.get_encoding(table)
