"""How many tokens a text is, reckoned without a tokenizer.

Characters a token by script, over the tokenizers of several model families, and a quarter more to be safe: for a
model whose table is not known, too many is the harmless side.
"""

from __future__ import annotations

import math

_ASCII, _CYRILLIC, _CJK, _OTHER = 4.2, 3.0, 1.35, 1.5  # characters a token
_MARGIN = 1.25
MOST_CHARACTERS = math.ceil(_ASCII / _MARGIN)
"""No text of more characters a token than this is reckoned to fit."""


def estimate(text: str) -> int:
    """Tokens that `text` takes at most, as far as can be told."""
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
