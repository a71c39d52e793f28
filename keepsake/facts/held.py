"""What held when, which facts are about something, and what became of one. Pure."""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from keepsake.models import Fact, FactChange

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_LIKE_A_DATE = re.compile(r"[0-9]{4}|[0-9]+(?:[-/.][0-9]*)+")

Since = Literal["then", "learned_later", "taken_back"]


@dataclass(frozen=True, slots=True)
class Period:
    """A day, a month or a year in UTC; `end` does not belong to it. `name`: as it is written, "2026-03"."""

    name: str
    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Held:
    """A fact as of a period: it held from `fact.valid_from` to `until` (None: it still does).

    `known`: it was known `then`, or was `learned_later` (at `fact.recorded_from`), or was believed then and has been
    `taken_back` since (at `fact.recorded_until`).
    """

    fact: Fact
    until: datetime | None
    known: Since


def looks_like_a_date(text: str) -> bool:
    """Is it a year, or numbers with dashes, points or slashes between them?"""
    return _LIKE_A_DATE.fullmatch(text) is not None


def parse_period(text: str) -> Period | None:
    """The period of 2026, 2026-03 or 2026-03-14; None where there is no such."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    try:
        begin = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day is not None:
            return Period(f"{begin:%Y-%m-%d}", begin, begin + timedelta(days=1))
        if month is not None:
            days = calendar.monthrange(year, month)[1]
            return Period(f"{begin:%Y-%m}", begin, begin + timedelta(days=days))
        return Period(f"{begin:%Y}", begin, begin.replace(year=year + 1))
    except (ValueError, OverflowError):
        return None


def held_in(facts: Iterable[Fact], period: Period) -> list[Held]:
    """What held in the period, and what was believed then though it never held.

    Rows that were merged are left out: the row that took their place holds since their beginning. So is what was
    forgotten.
    """
    return [
        held
        for fact in facts
        if fact.status not in ("merged", "forgotten") and (held := _as_of(fact, period)) is not None
    ]


def _as_of(fact: Fact, period: Period) -> Held | None:
    begin, until = fact.valid_from or fact.created_at, _until(fact)
    if until is not None and until <= begin:  # it never held
        gone = fact.recorded_until
        believed = fact.recorded_from < period.end and gone is not None and gone > period.begin
        return Held(fact, until, "taken_back") if believed else None
    if begin >= period.end or (until is not None and until <= period.begin):
        return None
    return Held(fact, until, "then" if fact.recorded_from < period.end else "learned_later")


def _until(fact: Fact) -> datetime | None:
    """When it ceased to hold, or will: a date that was told is its last day, one that another fact set is the end."""
    if fact.status == "superseded":
        return fact.valid_until or fact.recorded_until
    return fact.ends or (fact.recorded_until if fact.status == "expired" else None)


def matching(
    facts: Iterable[tuple[Fact, Collection[str]]], wanted: Collection[str], category: str | None
) -> list[Fact]:
    """The facts of a category, or those that have all the terms `wanted`; each fact stands beside its terms."""
    return [
        fact
        for fact, terms in facts
        if (category is not None and fact.category == category) or (wanted and set(wanted) <= set(terms))
    ]


def life_of(fact_id: int, history: Sequence[FactChange]) -> list[FactChange]:
    """What happened to a fact and, before, to the facts that it took the place of, oldest first."""
    line, waiting = {fact_id}, [fact_id]
    while waiting:
        after = waiting.pop()
        before = {
            change.fact_id
            for change in history
            if change.other_id == after and change.what in ("merged", "superseded", "denied", "corrected")
        }
        waiting += before - line
        line |= before
    return [change for change in history if change.fact_id in line]
