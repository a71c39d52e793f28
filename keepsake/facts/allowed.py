"""What a model may have done to facts by its word alone: nothing that the claims themselves do not bear. Pure.

A model reads what anybody wrote, and what it says may be an order that stood in a message. So it may point at facts,
and code decides: facts are merged where they claim the same, one ends where a newer fact or a newer message of the user
contradicts it. Vital facts are never touched so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from typing import Literal

from keepsake.facts.claims import Claim, claim
from keepsake.facts.normalise import normalise
from keepsake.facts.reconcile import GUESS, relate
from keepsake.facts.sensitive import holds_secret
from keepsake.index.language import guess
from keepsake.models import Fact, FactDraft, Message

Why = Literal["ids", "changed", "vital", "differs", "no_contradiction", "older", "not_said"]

_SENTENCE = re.compile(r"[^.!?;\n。！？；]+")
_READ_CHARACTERS, _READ_SENTENCES = 2000, 30


def may_merge(facts: Sequence[Fact]) -> Why | None:
    """Why these must not become one; None: they claim the same."""
    if any(fact.vital for fact in facts):
        return "vital"
    pairs = combinations(sorted(facts, key=last_said), 2)
    return None if all(says_the_same(old, new) for old, new in pairs) else "differs"


def may_supersede(old: Fact, by: Fact) -> Why | None:
    """Why the second must not end the first; None: it is newer and contradicts it."""
    if old.vital:
        return "vital"
    if relate(claim(old), claim(by)) not in ("replaces", "denies"):
        return "no_contradiction"
    newer = last_said(by) > last_said(old) and not (by.confidence <= GUESS < old.confidence)
    return None if newer else "older"


def may_forget(fact: Fact, window: Iterable[Message]) -> Why | None:
    """Why the fact stays; None: the user has said since that it holds no more."""
    if fact.vital:
        return "vital"
    last = max(fact.message_ids, default=0)
    said = (one for one in window if one.role == "user" and one.sender is None and one.id > last)
    old = claim(fact)
    return None if any(_contradicts(message, old) for message in said) else "not_said"


def may_say(draft: FactDraft, known: Iterable[Fact], window: Iterable[Message]) -> Why | None:
    """Why a new fact must not be stored; None: it ends nothing vital, or the user's own sentence does.

    That its quote stands in a message does not mean that the message says so.
    """
    new = claim(normalise(draft))
    said = [one for one in window if one.role == "user" and one.sender is None]
    for fact in known:
        if not fact.vital or fact.status != "active":
            continue
        old = claim(fact)
        if relate(old, new) in ("replaces", "denies") and not any(_contradicts(one, old) for one in said):
            return "vital"
    return None


def says_the_same(old: Fact, new: Fact) -> bool:
    """Do both claim the same, and nothing beside it?"""
    return relate(claim(old), claim(new)) == "same"


def merged_content(content: str, facts: Sequence[Fact]) -> str:
    """The sentence for facts that become one: the given one where it claims what they do, else the newest fact's."""
    newest = max(facts, key=last_said)
    draft = normalise(
        FactDraft(content, (), subject=newest.subject, predicate=newest.predicate, object=newest.object)
    )
    fits = (
        bool(content)
        and not holds_secret(content)
        and guess(content) == guess(newest.content)
        and relate(claim(newest), claim(draft)) == "same"
    )
    return content if fits else newest.content


def duplicates(facts: Iterable[Fact]) -> list[list[Fact]]:
    """Groups of facts that claim the same, each with all others of its group."""
    groups: dict[object, list[list[Fact]]] = {}
    found: list[list[Fact]] = []
    for fact in sorted(facts, key=lambda fact: fact.id):
        read = claim(fact)
        near = groups.setdefault((read.subject, read.predicate) if read.predicate else read.wording.plain, [])
        home = next((group for group in near if all(says_the_same(one, fact) for one in group)), None)
        if home is None:
            near.append([fact])
        else:
            home.append(fact)
            if len(home) == 2:
                found.append(home)
    return found


def _contradicts(message: Message, old: Claim) -> bool:
    sentences = islice(_SENTENCE.finditer(message.content[:_READ_CHARACTERS]), _READ_SENTENCES)
    drafts = (normalise(FactDraft(match[0].strip(), (message.id,))) for match in sentences)
    return any(relate(old, claim(draft)) in ("replaces", "denies") for draft in drafts)


def last_said(fact: Fact) -> tuple[int, float, int]:
    """What orders facts by when they were said last."""
    return max(fact.message_ids, default=0), fact.updated_at.timestamp(), fact.id
