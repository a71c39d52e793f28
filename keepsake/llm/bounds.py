"""Where an answer ends that does not end by itself: some servers ignore `max_tokens`, or drip for ever."""

from __future__ import annotations

import time

from keepsake.errors import ModelAnswerInvalid

CHARACTERS_A_TOKEN = 16  # far more than any language has; a run of spaces or dashes may be one token
ANSWER_SECONDS = 300.0


class Bounds:
    """What an answer of `max_tokens` may still say, and for how long from its first chunk on."""

    def __init__(self, max_tokens: int, seconds: float) -> None:
        self._left = max_tokens * CHARACTERS_A_TOKEN
        self._seconds = seconds
        self._ends: float | None = None

    def fit(self, piece: str) -> str:
        """What of a chunk's text fits. A chunk without text counts as well: a model may think for ever."""
        if self._ends is None:
            self._ends = time.monotonic() + self._seconds
        fits = piece[: max(self._left, 0)]
        self._left -= max(len(piece), 1)
        return fits

    def check(self) -> None:
        """Raises ModelAnswerInvalid where the answer is to end here."""
        if self._left < 0:
            raise ModelAnswerInvalid("The model's answer is far longer than was asked for: it is cut short.")
        if self._ends is not None and time.monotonic() > self._ends:
            raise ModelAnswerInvalid(
                f"The model's answer has no end after {self._seconds:g} s (ANSWER_SECONDS): it is cut short."
            )
