"""Which facts stand in the profile. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from keepsake.models import Fact

_ONE_DAY = timedelta(days=1)


def holding(facts: Sequence[Fact], now: datetime) -> list[Fact]:
    """The active facts whose last day is not over; of vital ones the day does not count."""
    return [
        fact
        for fact in facts
        if fact.status == "active"
        and (fact.vital or fact.valid_until is None or now - _ONE_DAY < fact.valid_until)
    ]


def select(facts: Sequence[Fact], scores: Mapping[int, float], limit: int) -> list[tuple[Fact, float]]:
    """The `limit` facts that matter most with their scores: vital ones first, then by score, then the newest."""
    best = sorted(
        facts, key=lambda fact: (not fact.vital, -scores[fact.id], -fact.updated_at.timestamp(), -fact.id)
    )
    return [(fact, scores[fact.id]) for fact in best[:limit]]
