"""Messages that facts are drawn from at once, and messages that take something back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepsake.facts.vocabulary import markers
from keepsake.models import Message

# A signal stands near the beginning or it is a story; a pasted page is long anyhow.
_READ_CHARACTERS = 1000
# "No, I meant…" is about what was said just before.
_TAKEN_BACK_TURNS = 4


def is_urgent(text: str, *, long_message: int) -> bool:
    """Is the message long, or does it ask to be remembered, say "always", or correct something? (F2)"""
    return len(text) >= long_message or markers().lasting.search(text[:_READ_CHARACTERS]) is not None


def takes_back(text: str) -> bool:
    """Does the message correct what was said before it?"""
    return markers().correction.search(text[:_READ_CHARACTERS].strip()) is not None


def taken_back(window: Sequence[Message]) -> Mapping[int, Sequence[int]]:
    """For each message of the user that takes something back, the ids of the user's messages just before it."""
    said = [message for message in window if message.role == "user" and message.sender is None]
    return {
        message.id: [one.id for one in said[max(0, place - _TAKEN_BACK_TURNS) : place]]
        for place, message in enumerate(said)
        if takes_back(message.content)
    }
