"""Which facts somebody means by a few words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from keepsake.models import Fact

Terms = Callable[[str], Sequence[str]]

# Of facts that share no word with what was said, those of at least this similarity (0–1) are meant.
BY_MEANING = 0.65
# Beside a good one, what fits less than this share of it is not meant.
_BESIDE = 0.6


def meant(facts: Sequence[Fact], what: str, terms: Terms, similarity: Mapping[int, float]) -> list[Fact]:
    """The facts that fit, best first. `similarity`: of `what` with facts by meaning, 0–1 by id, as far as known."""
    said = _plain(what)
    if exact := [fact for fact in facts if _plain(fact.content) == said]:
        return exact
    asked = frozenset(terms(what))
    scores = {fact.id: _fits(fact, asked, terms, similarity.get(fact.id, 0.0)) for fact in facts}
    best = max(scores.values(), default=0.0)
    if not best:
        return []
    found = [fact for fact in facts if scores[fact.id] >= _BESIDE * best]
    return sorted(found, key=lambda fact: (-scores[fact.id], -fact.id))


def _fits(fact: Fact, asked: frozenset[str], terms: Terms, similarity: float) -> float:
    held = frozenset(term for text in (fact.content, fact.object, fact.quote) if text for term in terms(text))
    share = len(asked & held) / len(asked) if asked else 0.0
    if share == 0.0:
        return similarity if similarity >= BY_MEANING else 0.0
    return max(share, similarity)


def _plain(text: str) -> str:
    return " ".join(text.casefold().strip(" .!").split())
