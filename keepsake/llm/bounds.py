"""Where an answer ends that does not end by itself: some servers ignore `max_tokens`, or drip for ever."""

from __future__ import annotations

import time

from keepsake.errors import ModelAnswerInvalid

CHARACTERS_A_TOKEN = 16  # far more than any language has; a run of spaces or dashes may be one token
LEAST_CHARACTERS = 64_000  # of a server that ignores `max_tokens`, but does come to an end, nothing is lost
EMPTY_CHUNK = 8  # what a chunk without text counts for, in characters: a model may think for ever
ANSWER_SECONDS = 300.0


def most_characters(max_tokens: int) -> int:
    """How long an answer of `max_tokens` may become before it is taken for one without an end."""
    return max(max_tokens * CHARACTERS_A_TOKEN, LEAST_CHARACTERS)


class Bounds:
    """What an answer of `max_tokens` may still say, and for how long from its first chunk on."""

    def __init__(self, max_tokens: int, seconds: float) -> None:
        self._left = most_characters(max_tokens)
        self._seconds = seconds
        self._ends: float | None = None

    def fit(self, piece: str) -> str:
        """What of a chunk's text fits."""
        if self._ends is None:
            self._ends = time.monotonic() + self._seconds
        fits = piece[: max(self._left, 0)]
        self._left -= len(piece) or EMPTY_CHUNK
        return fits

    def check(self) -> None:
        """Raises ModelAnswerInvalid where the answer is to end here."""
        if self._left < 0:
            raise ModelAnswerInvalid("The model's answer is far longer than was asked for: it is cut short.")
        if self._ends is not None and time.monotonic() > self._ends:
            raise ModelAnswerInvalid(
                f"The model's answer has no end after {self._seconds:g} s (ANSWER_SECONDS): it is cut short."
            )
