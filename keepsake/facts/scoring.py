"""How much a fact matters for a question now (requirements.md, R2): two weightings of parts of 0–1 each. Pure.

`mnemosyne`: similarity, importance, recency from creation exp(−days/τ), confidence (as in the Mnemosyne plugin).
`tri_tier`: similarity, recency from the last use exp(−ln 2 · days/half-life), use ln(1+hits)/ln(1+most hits).
Vital facts do not age.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keepsake.models import Fact

Weighting = Literal["mnemosyne", "tri_tier"]
Score = Callable[[Fact, float], float]
"""From a fact and its similarity, 0–1, to 0–1."""

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Mnemosyne:
    """Weights, and τ in days by type of fact."""

    similarity: float = 0.55
    importance: float = 0.20
    recency: float = 0.15
    confidence: float = 0.10
    tau: float = 30
    tau_preference: float = 180
    tau_event: float = 14

    def score(self, fact: Fact, similarity: float, now: datetime) -> float:
        """The fact's score, 0–1."""
        tau = {"preference": self.tau_preference, "event": self.tau_event}.get(fact.type, self.tau)
        recency = 1.0 if fact.vital else math.exp(-_days(fact.created_at, now) / tau)
        return (
            self.similarity * similarity
            + self.importance * fact.importance
            + self.recency * recency
            + self.confidence * fact.confidence
        )


@dataclass(frozen=True, slots=True)
class TriTier:
    """Weights, and half-lives in days: of what belongs to a task (projects, events), and of what lasts."""

    similarity: float = 0.55
    recency: float = 0.25
    use: float = 0.20
    half_life_task: float = 7
    half_life_lasting: float = 30

    def score(self, fact: Fact, similarity: float, now: datetime, *, most_hits: int) -> float:
        """The fact's score, 0–1. `most_hits`: of all the facts that it is compared with."""
        passing = fact.type == "event" or fact.category in ("projects", "events")
        half_life = self.half_life_task if passing else self.half_life_lasting
        days = _days(fact.last_hit_at or fact.created_at, now)
        recency = 1.0 if fact.vital else math.exp(-math.log(2) * days / half_life)
        use = math.log1p(fact.hits) / math.log1p(most_hits) if most_hits else 0.0
        return self.similarity * similarity + self.recency * recency + self.use * use


def scores(
    weighting: Mnemosyne | TriTier, facts: Sequence[Fact], similarity: Mapping[int, float], now: datetime
) -> dict[int, float]:
    """The score of each fact by its id. `similarity`: with the question, 0–1 by id; 0 where it is missing."""
    if isinstance(weighting, Mnemosyne):
        return {fact.id: weighting.score(fact, similarity.get(fact.id, 0.0), now) for fact in facts}
    most = max((fact.hits for fact in facts), default=0)
    return {
        fact.id: weighting.score(fact, similarity.get(fact.id, 0.0), now, most_hits=most) for fact in facts
    }


def by_words(facts: Sequence[Fact], terms: Callable[[str], Sequence[str]], question: str) -> dict[int, float]:
    """Similarity without vectors: the share of the question's terms that a fact has."""
    asked = frozenset(terms(question))
    if not asked:
        return {}
    return {fact.id: len(asked & frozenset(terms(fact.content))) / len(asked) for fact in facts}


def linked(similarity: Mapping[int, float], facts: Sequence[Fact]) -> dict[int, float]:
    """Similarities, 0–1 by id, where these facts name whom the question names: half of what is missing is given."""
    return {**similarity, **{fact.id: (1 + similarity.get(fact.id, 0.0)) / 2 for fact in facts}}


def _days(since: datetime, now: datetime) -> float:
    return max((now - since).total_seconds(), 0.0) / _DAY_SECONDS
