"""What a new grounded statement does to what is known (requirements.md, F5 and F6). Pure.

Equal claims agree: the new row becomes active and inherits, the old one is kept as merged. Another object of a
single-valued predicate supersedes, "no longer" ends, and what is only guessed yields. A near-duplicate by vector is a
candidate and no more: cosines cannot tell "allergic" from "not allergic".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from keepsake.facts.claims import Claim, claim
from keepsake.facts.objects import same_object
from keepsake.facts.vocabulary import predicates
from keepsake.models import Fact, FactDraft

GUESS = 0.5  # requirements.md, F6: at most so sure is only guessed
MOST_CONFIDENCE = 0.99
# Sentences with the same words ("rides a bike", "ride a bike") count as one claim only from this cosine on, by the
# beginning of the model's name. Of e5's centred cosines it is the lowest over ten such pairs, of MiniLM's what F5 says.
_GATES = {"multilingual-e5-small": 0.93, "all-MiniLM-L6-v2": 0.95}
_OTHER_GATE = 0.95

Relation = Literal["same", "replaces", "denies", "other"]
What = Literal["new", "known", "agrees", "yields"]
Ending = Literal["superseded", "denied", "corrected"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a draft.

    `what`: `new` and `agrees` store `draft`; `known` and `yields` store nothing. `merged`: facts that it takes the
    place of, being the same; `ended`: facts that no longer hold, and why. `returns`: it held before. `against`: the
    known fact that a guess yields to, or that says it already.
    """

    what: What
    draft: FactDraft
    merged: tuple[Fact, ...] = ()
    ended: tuple[tuple[Fact, Ending], ...] = ()
    returns: bool = False
    against: Fact | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known when a draft comes. `cosines`: of the draft with facts by id, as far as they were computed.

    `correcting`: the messages before the one that takes something back, where this draft comes from such a one.
    """

    facts: Sequence[Fact]
    cosines: Mapping[int, float] = field(default_factory=dict)
    gate: float = _OTHER_GATE
    correcting: Collection[int] = ()


def gate_of(model: str | None) -> float:
    """The cosine from which sentences of the same words count as one claim, by the embedding model."""
    return next((gate for name, gate in _GATES.items() if (model or "").startswith(name)), _OTHER_GATE)


def reconcile(draft: FactDraft, known: Known) -> Decision:
    """Decides what a normalised draft does to the facts of its user."""
    new = claim(draft)
    active = [fact for fact in known.facts if fact.status == "active"]
    relations = [(fact, relate(claim(fact), new, known.cosines.get(fact.id), known.gate)) for fact in active]
    same = [fact for fact, relation in relations if relation == "same"]
    ended = [(fact, relation) for fact, relation in relations if relation in ("replaces", "denies")]
    if (told := _told_already(draft, new, same, known)) is not None:
        return Decision("known", draft, against=told)
    if ended and not same and (stronger := _stronger(draft, [fact for fact, _ in ended])) is not None:
        return Decision("yields", draft, against=stronger)
    corrected = _corrected(draft, new, active, same, known)
    endings = {fact.id: (fact, _ending(fact, relation, known)) for fact, relation in ended}
    endings |= {fact.id: (fact, "corrected") for fact in corrected}
    return Decision(
        "agrees" if same else "new",
        inheriting(draft, same),
        tuple(same),
        tuple(endings.values()),
        returns=not same and _held_before(new, known),
    )


def relate(old: Claim, new: Claim, cosine: float | None = None, gate: float = _OTHER_GATE) -> Relation:
    """How a new claim stands to an old one. `cosine` None: not known."""
    if old.predicate is None or new.predicate is None or old.predicate != new.predicate:
        if _opposed(old, new):
            return "replaces"
        return "same" if _same_words(old, new, cosine, gate) else "other"
    if old.subject != new.subject or old.tense != new.tense:
        return "other"
    alike = old.pattern == new.pattern  # objects that a model gave are all in the nominative
    if same_object(old.object, new.object, exact=new.rules.exact, alike=alike, kinds=new.rules.kinds):
        if old.negated != new.negated:
            return "denies" if new.tense == "present" else "other"
        return "same" if _says_no_more(old, new, alike=alike) else "other"
    # Another value now: also what was said of an older one ("no longer lives in…") has served its purpose.
    replaced = new.rules.single and not new.negated and new.tense == "present" and new.subject is not None
    return "replaces" if replaced else "other"


def _says_no_more(old: Claim, new: Claim, *, alike: bool) -> bool:
    """Do two claims with equal triples say nothing beside them that differs?"""
    if old.whole is not None and new.whole is not None:
        return same_object(old.whole, new.whole, exact=new.rules.exact, alike=alike, kinds=new.rules.kinds)
    return old.numbers == new.numbers and _names_fit(old, new) and old.marks[0] == new.marks[0]


def _names_fit(old: Claim, new: Claim) -> bool:
    return old.names - frozenset(new.object.stems) == new.names - frozenset(old.object.stems)


def _opposed(old: Claim, new: Claim) -> bool:
    return (
        new.predicate is not None
        and old.rules.opposite == new.predicate
        and old.subject == new.subject
        and (old.negated, old.tense) == (new.negated, new.tense) == (False, "present")
        and same_object(old.object, new.object)
    )


def _same_words(old: Claim, new: Claim, cosine: float | None, gate: float) -> bool:
    """The same words in the same order, but for the ending of the first: "rides", "ride"."""
    both_known = old.predicate in predicates() and new.predicate in predicates()
    if both_known or not old.wording or (old.subject or "user") != (new.subject or "user"):
        return False
    if old.wording.plain == new.wording.plain:
        return True
    alike = old.wording.plain[1:] == new.wording.plain[1:] and old.wording.stems[0] == new.wording.stems[0]
    return alike and old.marks == new.marks and cosine is not None and cosine >= gate


def _told_already(draft: FactDraft, new: Claim, same: Sequence[Fact], known: Known) -> Fact | None:
    """The fact that the very same messages gave before: they are shown to the model more than once."""
    sources = frozenset(draft.message_ids)
    if not sources:
        return None
    for fact in same:
        if sources <= frozenset(fact.message_ids) and fact.content.casefold() == draft.content.casefold():
            return fact
    gone = (
        fact for fact in known.facts if fact.status != "active" and sources <= frozenset(fact.message_ids)
    )
    return next((fact for fact in gone if relate(claim(fact), new) == "same"), None)


def _stronger(draft: FactDraft, against: Sequence[Fact]) -> Fact | None:
    """The known fact that this draft cannot replace: it is only guessed, or older than what it would end."""
    for fact in against:
        if draft.confidence <= GUESS < fact.confidence:
            return fact
        if draft.message_ids and fact.message_ids and max(draft.message_ids) < max(fact.message_ids):
            return fact
    return None


def _corrected(
    draft: FactDraft, new: Claim, active: Sequence[Fact], same: Sequence[Fact], known: Known
) -> list[Fact]:
    """What was just said of the same many-valued predicate, where the user takes it back."""
    if not known.correcting or new.predicate is None or new.rules.single or new.negated or same:
        return []
    just_said = [
        fact
        for fact in active
        if fact.message_ids
        and set(fact.message_ids) <= set(known.correcting)
        and not (fact.vital or draft.vital)
    ]
    found = [fact for fact in just_said if _same_slot(claim(fact), new)]
    return found if len(found) == 1 else []  # of several it is not sure which one is meant


def _same_slot(old: Claim, new: Claim) -> bool:
    return (old.subject, old.predicate, old.negated, old.tense) == (
        new.subject,
        new.predicate,
        new.negated,
        new.tense,
    )


def _ending(fact: Fact, relation: Relation, known: Known) -> Ending:
    if relation == "denies":
        return "denied"
    taken_back = fact.message_ids and set(fact.message_ids) <= set(known.correcting)
    return "corrected" if taken_back else "superseded"


def inheriting(draft: FactDraft, same: Sequence[Fact]) -> FactDraft:
    """The draft with what it takes over from facts that say the same."""
    if not same:
        return draft
    named = next((fact.category for fact in same if fact.category != "other"), draft.category)
    doubt = 1 - draft.confidence
    for fact in same:
        if not set(draft.message_ids) or not set(draft.message_ids) <= set(fact.message_ids):
            doubt *= 1 - fact.confidence  # two witnesses; the same message twice is one
    confidence = max(draft.confidence, *(fact.confidence for fact in same), min(1 - doubt, MOST_CONFIDENCE))
    return replace(
        draft,
        message_ids=tuple(sorted({*draft.message_ids, *(one for fact in same for one in fact.message_ids)})),
        category=named if draft.category == "other" else draft.category,
        confidence=round(confidence, 4),
        importance=max(draft.importance, *(fact.importance for fact in same)),
        vital=draft.vital or any(fact.vital for fact in same),
        origin="by_hand" if any(fact.origin == "by_hand" for fact in same) else draft.origin,
        topic=draft.topic or next((fact.topic for fact in same if fact.topic), None),
        quote=draft.quote or next((fact.quote for fact in same if fact.quote), None),
        valid_until=draft.valid_until or _latest(fact.valid_until for fact in same),
    )


def _latest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _held_before(new: Claim, known: Known) -> bool:
    return any(fact.status == "superseded" and relate(claim(fact), new) == "same" for fact in known.facts)
