"""The request for an answer: what always stands in it, and what that leaves of CONTEXT_TOKENS (requirements.md, B1)."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from keepsake.llm.prompts import ANSWER_PROMPT, load_prompt
from keepsake.locales import translate
from keepsake.prompt.budget import shorten
from keepsake.prompt.tokens import estimate
from keepsake.settings import LANGUAGES

# The new message is whole wherever an empty block fits beside it. Where it has to be cut at all, it leaves memory half
# of what the system text leaves.
_EMPTY_BLOCK = 80
_CUT_MESSAGE = 0.5
_A_LONG_DAY = datetime(2026, 9, 30)  # noqa: DTZ001  (only its name is used: Wednesday)


def system_text(today: datetime, language: str) -> str:
    """Persona and rules; the block follows after an empty line."""
    (system,) = load_prompt(ANSWER_PROMPT).render(
        today=f"{today:%Y-%m-%d (%A)}", language=translate(language, "language-name")
    )
    return system.content


def fit_message(context_tokens: int, message: str) -> str:
    """The new message, cut in its middle with a mark where it alone exceeds its room."""
    room = context_tokens - _system_tokens()
    whole = estimate(message) <= room - _EMPTY_BLOCK
    return message if whole else shorten(message, int(room * _CUT_MESSAGE))


def block_tokens(context_tokens: int, message: str) -> int:
    """What the system text and the new message, as `fit_message` gives it, leave for the block."""
    return context_tokens - _system_tokens() - estimate(fit_message(context_tokens, message))


@cache
def _system_tokens() -> int:
    """What the system text takes at most: in any language, on any day."""
    return max(estimate(system_text(_A_LONG_DAY, language) + "\n\n") for language in LANGUAGES)
