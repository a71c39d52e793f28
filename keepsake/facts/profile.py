"""Which facts stand in the profile. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from keepsake.models import Fact, Topic


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a person for a question: facts with their scores, best first, and the index of topics.

    Behind the facts of the profile stand those of the topics that the question is about.
    """

    facts: Sequence[tuple[Fact, float]] = ()
    topics: Sequence[Topic] = ()


def holding(facts: Sequence[Fact], now: datetime) -> list[Fact]:
    """The active facts whose last day is not over."""
    return [fact for fact in facts if fact.status == "active" and (fact.ends is None or now < fact.ends)]


def select(facts: Sequence[Fact], scores: Mapping[int, float], limit: int) -> list[tuple[Fact, float]]:
    """The `limit` facts that matter most with their scores: vital ones first, then by score, then the newest."""
    best = sorted(
        facts, key=lambda fact: (not fact.vital, -scores[fact.id], -fact.updated_at.timestamp(), -fact.id)
    )
    return [(fact, scores[fact.id]) for fact in best[:limit]]


def of_topics(
    about: Sequence[Topic],
    facts: Sequence[Fact],
    scores: Mapping[int, float],
    chosen: Sequence[tuple[Fact, float]],
    limit: int,
) -> list[tuple[Fact, float]]:
    """The `limit` best facts of these topics that are not chosen already, with their scores."""
    there = {fact.id for fact, _ in chosen}
    wanted = {one for topic in about for one in topic.fact_ids} - there
    return select([fact for fact in facts if fact.id in wanted], scores, limit)
