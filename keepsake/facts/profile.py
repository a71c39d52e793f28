"""Which facts stand in the profile. Pure; scores over similarity and time (R2) take this place later."""

from __future__ import annotations

from collections.abc import Sequence

from keepsake.models import Fact


def select(facts: Sequence[Fact], limit: int) -> list[Fact]:
    """The `limit` active facts that matter most, best first: vital ones, then by importance and confidence."""
    active = [fact for fact in facts if fact.status == "active"]
    # Of equal ones the newest.
    best = sorted(
        active, key=lambda f: (not f.vital, -f.importance * f.confidence, -f.updated_at.timestamp(), -f.id)
    )
    return best[:limit]
