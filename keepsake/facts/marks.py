"""What a forgotten claim is known again by: texts that only say the same claim has in common. Pure.

They are stored under a keyed hash, so nothing can be compared but for being equal. Therefore a claim has several, one
for each wording that reconciliation takes for the same: by its triple, by its words, by their sound in another script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from anyascii import anyascii

from keepsake.facts.claims import USER, Stated, claim
from keepsake.facts.objects import Named
from keepsake.facts.vocabulary import markers

Terms = Callable[[str], Sequence[str]]


def claim_marks(stated: Stated) -> set[str]:
    """Marks of the claim: a fact that has one of them says the same. In whatever tense it was said."""
    found = claim(stated)
    subject, denied = found.subject or USER, "not" if found.negated else "so"
    marks = {f"words|{denied}|{wording}" for wording in _wordings(found.wording)}
    if found.predicate is not None and found.object:
        triple = f"triple|{subject}|{found.predicate}|{denied}"
        marks |= {f"{triple}|{wording}" for wording in _wordings(found.object)}
    return marks


def slot_mark(stated: Stated) -> str | None:
    """Mark of a single-valued predicate and its subject: from the same message nothing else can be said of it."""
    found = claim(stated)
    if found.predicate is None or not found.rules.single:
        return None
    return f"slot|{found.subject or USER}|{found.predicate}"


def telling_words(object_: str | None, quote: str | None, content: str, terms: Terms) -> set[str]:
    """The terms that a message which tells the fact again holds: those of its object, else of its quote or content."""
    found = (set(terms(text)) for text in (object_, quote, content) if text)
    return next((words for words in found if words), set())


def _wordings(named: Named) -> Iterable[str]:
    stems = [stem for stem in named.stems if stem not in markers().conjunctions]
    if not stems:
        return
    yield " ".join(sorted(set(stems)))
    # "Ангарске" and "Angarsk".
    yield "sound " + re.sub(r"\W", "", anyascii("".join(stems))).casefold()
