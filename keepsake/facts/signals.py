"""Messages that facts are drawn from at once, and messages that take something back. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from keepsake.facts.claims import derive
from keepsake.facts.sensitive import holds_secret
from keepsake.facts.vocabulary import markers
from keepsake.models import Message

# A signal stands near the beginning or it is a story; a pasted page is long anyhow.
_READ_CHARACTERS = 1000
# "No, I meant…" is about what was said just before.
_TAKEN_BACK_TURNS = 4
_SENTENCE_CHARACTERS = 300
# Shorter ones are pieces ("no, I meant Lyon"), unless they are of a known form.
_SENTENCE_WORDS = 4
_SENTENCE_HAN = 6
_HAN = re.compile(r"[\u4e00-\u9fff]")


def is_urgent(text: str, *, long_message: int) -> bool:
    """Is the message long, or does it ask to be remembered, say "always", or correct something? (F2)"""
    return len(text) >= long_message or markers().lasting.search(text[:_READ_CHARACTERS]) is not None


def takes_back(text: str) -> bool:
    """Does the message correct what was said before it?"""
    return markers().correction.search(text[:_READ_CHARACTERS].strip()) is not None


def corrected(text: str) -> str | None:
    """What a message says instead of what was said before: "I live in Lyon" of "no, I meant I live in Lyon".

    None where it corrects nothing, or the rest is no sentence that says something by itself.
    """
    if len(text) > _SENTENCE_CHARACTERS or not takes_back(text):
        return None
    rest, told = " ".join(text.split()), False
    while (lead := markers().correction_lead.match(rest)) or (
        opening := markers().correction_opening.match(rest)
    ):
        told = told or lead is not None
        rest = rest[(lead or opening).end() :]  # type: ignore[union-attr]
    if rest.endswith(("?", "？")) or holds_secret(rest):
        return None
    long_enough = len(rest.split()) >= _SENTENCE_WORDS or len(_HAN.findall(rest)) >= _SENTENCE_HAN
    if not (told and long_enough) and derive(rest) is None:
        return None
    return rest[:1].upper() + rest[1:]


def taken_back(window: Sequence[Message]) -> Mapping[int, Sequence[int]]:
    """For each message of the user that takes something back, the ids of the user's messages just before it."""
    said = [message for message in window if message.role == "user" and message.sender is None]
    return {
        message.id: [one.id for one in said[max(0, place - _TAKEN_BACK_TURNS) : place]]
        for place, message in enumerate(said)
        if takes_back(message.content)
    }
