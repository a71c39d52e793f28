"""Sentences for benchmarks that ask how long it takes, not what is found. Needs nothing of keepsake."""

from __future__ import annotations

import random

SENTENCE = "The old ferry leaves the northern harbour at seven every second morning"

_VOCABULARY = """
time house road morning train window table letter garden water brother market ticket winter kitchen doctor
office music paper summer river school bread station evening mother colour bridge engine flower island
jacket lesson money number orange pencil question report shoulder theatre uncle village weather yellow
autumn basket candle dinner engineer forest guitar holiday insurance journey key lamp mountain neighbour
ocean passport quarter restaurant sugar telephone umbrella violet wallet airport battery camera driver
example fridge glass hospital invoice jam kettle
"""
_WORDS = _VOCABULARY.split()
_TOPICS = ("harbour", "orchard", "ferry", "violin", "bakery", "museum", "bicycle", "library")


def sentence(chance: random.Random, words: int = 12) -> str:
    """Words by a Zipf-like law, so that some are in most messages and some in few."""
    picked = [_WORDS[min(int(chance.paretovariate(0.7)) - 1, len(_WORDS) - 1)] for _ in range(words - 1)]
    return " ".join([*picked, chance.choice(_TOPICS)])
