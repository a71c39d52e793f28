"""The request for an answer: what always stands in it, and what that leaves of CONTEXT_TOKENS (requirements.md, B1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from keepsake.llm.prompts import ANSWER_PROMPT, load_prompt
from keepsake.locales import translate
from keepsake.prompt.block import BlockParts, Say, render
from keepsake.prompt.budget import Shares, fit, section_tokens, shorten
from keepsake.prompt.tokens import ANSWER_START_TOKENS, TURN_TOKENS, Measure, Table
from keepsake.settings import LANGUAGES

# The new message is whole wherever an empty block fits beside it.
_EMPTY_BLOCK = 80
_LEAST_MESSAGE = 64  # also where the rules alone fill a budget that is too small for any model
_TURNS = 2
_BETWEEN = "\n\n"
_A_LONG_DAY = datetime(2026, 9, 30)  # noqa: DTZ001  (only its name is used: Wednesday)


@dataclass(frozen=True, slots=True)
class Budget:
    """`tokens` of a whole request, as `measure` counts them for its model."""

    tokens: int
    measure: Measure = Measure()  # noqa: RUF009 - frozen
    shares: Shares = Shares()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class Assembled:
    """A request's block and new message, what stands in the block, and tokens by section: pairs of name and number."""

    block: str
    message: str
    parts: BlockParts
    sections: tuple[tuple[str, int], ...]


def assemble(everything: BlockParts, message: str, budget: Budget, say: Say) -> Assembled:
    """What of the memories and of the new message fits into the budget beside persona and rules."""
    say = cache(say)  # the same few words again and again
    shown = fit_message(budget, message)
    count = budget.measure.count
    parts = fit(everything, _room(budget) - count(shown), say, count, budget.shares)
    by_section = section_tokens(parts, say, count)
    fixed = {"system": _fixed(budget) + by_section.pop("frame")}
    sections = (
        fixed | {name: tokens for name, tokens in by_section.items() if tokens} | {"message": count(shown)}
    )
    return Assembled(render(parts, say), shown, parts, tuple(sections.items()))


def system_text(today: datetime, language: str) -> str:
    """Persona and rules; the block follows after an empty line."""
    (system,) = load_prompt(ANSWER_PROMPT).render(
        today=f"{today:%Y-%m-%d (%A)}", language=translate(language, "language-name")
    )
    return system.content


def fit_message(budget: Budget, message: str) -> str:
    """The new message, cut in its middle with a mark where it alone exceeds the budget.

    It then has its own share and history's: what is cut is a document, which is worth more than old messages.
    """
    room, shares = _room(budget), budget.shares
    most = max(room - _EMPTY_BLOCK, _LEAST_MESSAGE)
    if budget.measure.count(message) <= most:
        return message
    memory = room * shares.memory // max(1, shares.memory + shares.history + shares.message)
    return shorten(message, max(min(most, room - memory), _LEAST_MESSAGE), budget.measure.count)


def block_tokens(budget: Budget, message: str) -> int:
    """What the system text and the new message, as `fit_message` gives it, leave for the block."""
    return _room(budget) - budget.measure.count(fit_message(budget, message))


def _room(budget: Budget) -> int:
    return budget.tokens - _fixed(budget)


def _fixed(budget: Budget) -> int:
    """What is in every request: persona and rules, and what turns cost beside their texts."""
    measure = budget.measure
    return (
        int(_system_tokens(measure.table) * measure.factor) + 2 + _TURNS * TURN_TOKENS + ANSWER_START_TOKENS
    )


@cache
def _system_tokens(table: Table) -> int:
    """What the system text takes at most by a table: in any language, on any day."""
    count = Measure(table).count
    return max(count(system_text(_A_LONG_DAY, language) + _BETWEEN) for language in LANGUAGES)
