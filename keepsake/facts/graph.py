"""Who is who: people and pets with their names and what they are to the user, from the facts that hold.

Nothing is stored. A fact that names somebody ("partner" Xiaoya, "Sister Ana visits") makes the name one with "my
girlfriend" where a message that it comes from says so outright (keepsake.facts.roles); once the fact or the message is
gone, or a later fact says otherwise, so is the alias. A question about one name is then also about the other ones: one
hop.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from keepsake.facts.claims import USER, claim, subject_of
from keepsake.facts.objects import named, same_object
from keepsake.facts.reconcile import GUESS
from keepsake.facts.roles import Mention, Role, forget_cached, mentions, name_in, names_role, roles, said_of
from keepsake.facts.vocabulary import predicates
from keepsake.index.terms import analyse
from keepsake.models import Fact
from keepsake.recall.question import Same, Wider
from keepsake.store import facts, messages

_READ_CHARACTERS = 8_000
_USERS_IN_RAM = 1_000
_OF_HAND = ("by_hand", "imported")  # what says so itself, having no messages

Terms = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody of the user's: `names` as they were spelled, and by what words the user calls them."""

    names: frozenset[str]
    called: frozenset[tuple[Role, str]]

    @property
    def roles(self) -> frozenset[Role]:
        return frozenset(role for role, _ in self.called)


@dataclass(frozen=True, slots=True)
class Widened:
    """What a question is also about. `wider` is for recall; `entities` are those that it names.

    `by_role`: the roles that mean one of them and nobody else.
    """

    wider: Wider = field(default_factory=Wider)
    entities: tuple[Entity, ...] = ()
    by_role: frozenset[Role] = frozenset()

    def links(self, fact: Fact, terms: Terms) -> bool:
        """Does the fact name one of them, by name or by what they are?"""
        if not self.entities:
            return False
        said = " ".join(part for part in (fact.content, fact.subject, fact.object) if part)
        held = frozenset(terms(said))
        return any(
            frozenset(terms(name)) <= held for entity in self.entities for name in entity.names
        ) or any(names_role(fact.content, role) for role in self.by_role)


class People:
    """Those of each user, read anew for each question; only which facts are worth reading stands in RAM, by id."""

    def __init__(self) -> None:
        self._candidates: OrderedDict[int, tuple[tuple[int, int], list[int]]] = OrderedDict()

    def drop(self, user_id: int) -> None:
        """Takes out of RAM what it holds of a user, and the texts that were read of anybody."""
        self._candidates.pop(user_id, None)
        forget_cached()

    def wider(self, connection: sqlite3.Connection, user_id: int, question: str) -> Wider:
        """What a question is also about, for recall: a step inside a transaction of `Database`."""
        return self.widen(connection, user_id, question).wider

    def widen(self, connection: sqlite3.Connection, user_id: int, question: str) -> Widened:
        """What a question is also about: a step inside a transaction of `Database`."""
        return widened(question, self.of_user(connection, user_id), analyse)

    def of_user(self, connection: sqlite3.Connection, user_id: int) -> list[Entity]:
        """Those whom the user's facts name and messages say who they are."""
        ids = self._worth_reading(connection, user_id)
        if not ids:
            return []
        held = facts.by_ids(connection, user_id, ids)
        sources = messages.by_ids(connection, user_id, {one for fact in held for one in fact.message_ids})
        said = {one.id: one.content for one in sources.values() if one.role == "user" and one.sender is None}
        return entities(held, said)

    def _worth_reading(self, connection: sqlite3.Connection, user_id: int) -> list[int]:
        # A fact is never overwritten, so the active ones are the same ones where number and sum of their ids are.
        state = facts.state(connection, user_id)
        known = self._candidates.get(user_id)
        if known is None or known[0] != state:
            rows = facts.statements(connection, user_id)
            known = state, [one[0] for one in rows if _may_name(*one[1:])]
            self._candidates[user_id] = known
            if len(self._candidates) > _USERS_IN_RAM:
                self._candidates.popitem(last=False)
        return known[1]


def entities(known: Sequence[Fact], said: Mapping[int, str]) -> list[Entity]:
    """The entities of active facts. `said`: the user's own messages that these come from, by id. Pure."""
    found: list[tuple[set[str], set[tuple[Role, str]]]] = []
    for fact in sorted(known, key=_age):
        for name in _names(fact):
            stated = [
                (mention, spelled)
                for mention, spelled in _stated(fact, name, said)
                if not _ended(mention.role, name, fact, known)
            ]
            if not stated:
                continue
            names, called = next((one for one in found if _is_one_of(name, one[0])), (set[str](), set()))
            if not names:
                found.append((names, called))
            names |= {name, *(spelled for _, spelled in stated)}
            called |= {(mention.role, mention.word.casefold()) for mention, _ in stated}
    return [Entity(frozenset(names), frozenset(called)) for names, called in found]


def widened(question: str, known: Sequence[Entity], terms: Terms) -> Widened:
    """What a question is also about, among these entities. Pure."""
    if not known:
        return Widened()
    asked = mentions(unicodedata.normalize("NFC", question[:_READ_CHARACTERS]))
    held = frozenset(terms(question))
    hints: dict[str, None] = {}
    same: list[Same] = []
    about: list[Entity] = []
    only = frozenset(role for entity in known for role in entity.roles if _only(role, entity, known))
    for entity in known:
        meant = [mention for mention in asked if mention.role in entity.roles]
        spelled = sorted(name for name in entity.names if frozenset(terms(name)) <= held)
        if not meant and not spelled:
            continue
        about.append(entity)
        words = sorted({word for role, word in entity.called if role in only})
        other = [*sorted(entity.names), *words]
        hints |= dict.fromkeys(sorted(entity.names - set(spelled)) if meant else words)
        same += _same([*(mention.word for mention in meant), *spelled], other, terms)
    if not about:
        return Widened()
    by_role = frozenset(role for entity in about for role in entity.roles if role in only)
    return Widened(Wider(", ".join(hints), tuple(same)), tuple(about), by_role)


def _same(asked: Sequence[str], other: Sequence[str], terms: Terms) -> list[Same]:
    pairs = {
        (tuple(dict.fromkeys(terms(one))), tuple(dict.fromkeys(terms(two)))) for one in asked for two in other
    }
    return [Same(one, two) for one, two in sorted(pairs) if one and two and set(one) != set(two)]


def _only(role: Role, entity: Entity, known: Sequence[Entity]) -> bool:
    """Does the word alone mean this one?"""
    return not role.many and all(role not in other.roles for other in known if other is not entity)


def _may_name(content: str, subject: str | None, predicate: str | None, object_: str | None) -> bool:
    """Could a fact say who somebody is? Most do not: all the user's facts are looked at for each question."""
    if subject is None and object_ is None:
        return False
    return _relates(predicate) or bool(mentions(content))


def _relates(predicate: str | None) -> bool:
    return predicate is not None and predicate.removeprefix("not_") in _relations()


@cache
def _relations() -> frozenset[str]:
    return frozenset(name for role in roles().values() for name in (role.predicate, role.name))


def _names(fact: Fact) -> list[str]:
    """Whom the fact is about or names, by name."""
    found: list[str] = []
    for part in (fact.subject, fact.object):
        if part is None or subject_of(part) == USER:
            continue
        name = name_in(unicodedata.normalize("NFC", part))
        if name is not None and any(char.isalpha() for char in name) and name not in found:
            found.append(name)
    return found


def _stated(fact: Fact, name: str, said: Mapping[int, str]) -> list[tuple[Mention, str]]:
    """Where the messages that a fact comes from say outright what it says of this name."""
    if fact.confidence <= GUESS:
        return []
    texts = [said[one] for one in fact.message_ids if one in said]
    if fact.origin in _OF_HAND and not fact.message_ids:
        texts = [fact.content]
    return [
        found
        for text in texts
        for found in said_of(unicodedata.normalize("NFC", text[:_READ_CHARACTERS]), name)
        if _says_so(fact, found[0].role)
    ]


def _says_so(fact: Fact, role: Role) -> bool:
    """Does the fact itself say that somebody is this to the user?"""
    read = claim(fact)
    if read.predicate in (role.predicate, role.name):
        return not read.negated and read.tense == "present"
    return names_role(fact.content, role) or (fact.subject is not None and names_role(fact.subject, role))


def _ended(role: Role, name: str, stated: Fact, known: Collection[Fact]) -> bool:
    """Does a later fact deny it, or name another one where there is but one?"""
    for fact in known:
        if _age(fact) <= _age(stated) or fact.object is None:
            continue
        read = claim(fact)
        if read.predicate != role.predicate or read.subject not in (USER, None):
            continue
        same = _is_one_of(name_in(fact.object) or fact.object, {name})
        if read.negated and same:
            return True
        if predicates().get(role.predicate) is None or not predicates()[role.predicate].single:
            continue
        if not same and not read.negated and read.tense == "present":
            return True
    return False


def _age(fact: Fact) -> tuple[float, int]:
    return fact.updated_at.timestamp(), fact.id


def _is_one_of(name: str, names: Collection[str]) -> bool:
    return any(same_object(named(name), named(other), exact=True) for other in names)
