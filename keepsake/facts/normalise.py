"""A grounded fact in the one form that facts are compared in (requirements.md, F5). Pure."""

from __future__ import annotations

from dataclasses import replace

from keepsake.facts.claims import USER, derive, kin_in, subject_of
from keepsake.facts.vocabulary import canonical, predicates, stored_name
from keepsake.models import FactDraft

# Of the relations themselves the user is the subject, though the sentence begins with somebody else.
_OF_PEOPLE = frozenset(
    {"partner", "has_child", "has_sibling", "has_parent", "friend_of", "colleague_of", "manager"}
)


def normalise(draft: FactDraft) -> FactDraft:
    """The draft with a canonical predicate and subject, a triple where its sentence gives one, and `vital` where it is.

    A predicate that is not in the vocabulary is kept under its own name.
    """
    draft = _with_triple(draft)
    subject = subject_of(draft.subject)
    if draft.predicate is not None:
        name, negated = canonical(draft.predicate)
        found = derive(draft.content)
        negated = negated or (found is not None and found.predicate == name and found.negated)
        subject = _whose(draft.content, name, subject)
        draft = replace(draft, predicate=stored_name(name, negated=negated))
        vital = subject == USER and not negated and name in predicates() and predicates()[name].vital
        draft = replace(draft, vital=draft.vital or vital)
    given = subject_of(draft.subject)
    return replace(draft, subject=draft.subject if subject == given != USER else subject)


def _with_triple(draft: FactDraft) -> FactDraft:
    known = draft.predicate is not None and canonical(draft.predicate)[0] in predicates()
    if known and draft.object:
        return draft
    found = derive(draft.content)
    if found is None or subject_of(draft.subject) not in (None, USER):
        return draft
    predicate = stored_name(found.predicate, negated=found.negated)
    return replace(draft, subject=USER, predicate=predicate, object=found.object)


def _whose(content: str, predicate: str, subject: str | None) -> str | None:
    """The subject of a triple; models give the user's for "Sister lives in Lyon" too, or leave it out."""
    if subject not in (None, USER):
        return subject
    found = derive(content)
    if found is not None and found.predicate == predicate:
        return USER
    kin = kin_in(content)
    if kin is not None and predicate not in _OF_PEOPLE:
        return subject_of(kin)
    return subject
