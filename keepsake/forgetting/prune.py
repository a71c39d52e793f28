"""The cleaning rules (requirements.md, K3). Pure: facts in, verdicts out, the clock passed in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from keepsake.models import Fact

Rule = Literal["replaced", "past", "unused"]
Action = Literal["removed", "expired"]


@dataclass(frozen=True, slots=True)
class Limits:
    """`replaced` and `unused` are durations, `importance` is 0–1."""

    replaced: timedelta
    unused: timedelta
    importance: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a fact, by which rule, and since when the rule holds."""

    fact: Fact
    rule: Rule
    action: Action
    since: datetime

    def as_dict(self) -> dict[str, object]:
        return {
            "id": self.fact.id,
            "user_id": self.fact.user_id,
            "rule": self.rule,
            "action": self.action,
            "since": self.since.isoformat(),
            "content": self.fact.content,
        }


def prune(facts: Iterable[Fact], limits: Limits, *, now: datetime) -> list[Verdict]:
    """Which facts go, in the order given. Vital ones never do.

    Merged or superseded for longer than `limits.replaced`: removed. Active and past the last day on which they hold:
    expired, kept. Active, of less than `limits.importance` and not hit for `limits.unused`: expired, kept.
    """
    verdicts = (_judge(fact, limits, now) for fact in facts if not fact.vital)
    return [verdict for verdict in verdicts if verdict is not None]


def _judge(fact: Fact, limits: Limits, now: datetime) -> Verdict | None:
    if fact.status in ("merged", "superseded"):
        ended = fact.recorded_until or fact.updated_at
        return Verdict(fact, "replaced", "removed", ended) if now - ended > limits.replaced else None
    if fact.status != "active":
        return None
    if fact.ends is not None and now >= fact.ends:
        return Verdict(fact, "past", "expired", fact.ends)
    last_use = max(fact.created_at, fact.last_hit_at or fact.created_at)
    if fact.importance < limits.importance and now - last_use > limits.unused:
        return Verdict(fact, "unused", "expired", last_use)
    return None
