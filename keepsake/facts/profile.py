"""Which facts stand in the profile. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from keepsake.models import Fact


def holding(facts: Sequence[Fact], now: datetime) -> list[Fact]:
    """The active facts whose last day is not over."""
    return [fact for fact in facts if fact.status == "active" and (fact.ends is None or now < fact.ends)]


def select(facts: Sequence[Fact], scores: Mapping[int, float], limit: int) -> list[tuple[Fact, float]]:
    """The `limit` facts that matter most with their scores: vital ones first, then by score, then the newest."""
    best = sorted(
        facts, key=lambda fact: (not fact.vital, -scores[fact.id], -fact.updated_at.timestamp(), -fact.id)
    )
    return [(fact, scores[fact.id]) for fact in best[:limit]]
