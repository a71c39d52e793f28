"""The rows of a removal: what goes with a fact or a message, and how it comes back. Transactions of `Database`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from keepsake.clock import from_micros, to_micros
from keepsake.facts.claims import claim
from keepsake.facts.reconcile import relate
from keepsake.forgetting.seal import Seal, words_of
from keepsake.models import Fact, FactChange, FactDraft, Message
from keepsake.store import (
    embeddings,
    facts,
    history,
    jobs,
    keywords,
    messages,
    summaries,
    taking,
    tombstones,
    topics,
)
from keepsake.store.taking import Taken


@dataclass(slots=True)
class Removed:
    """What one removal took, to be put back: rows, the tombstones that it made, and the messages that it concerns."""

    at: int  # microseconds
    taken: Taken = field(default_factory=Taken)
    tombstones: list[int] = field(default_factory=list)
    fact_ids: list[int] = field(default_factory=list)
    message_ids: list[int] = field(default_factory=list)
    told_in: set[int] = field(default_factory=set)  # messages that stay, and that summaries leave out

    def joined(self, later: Removed) -> Removed:
        """This one and a later one, as one."""
        return Removed(
            self.at,
            Taken(self.taken.rows + later.taken.rows, self.taken.emptied + later.taken.emptied),
            self.tombstones + later.tombstones,
            self.fact_ids + later.fact_ids,
            self.message_ids + later.message_ids,
            self.told_in | later.told_in,
        )


def remove(
    connection: sqlite3.Connection,
    user_id: int,
    fact_ids: Collection[int],
    message_ids: Collection[int],
    now: int,
) -> Removed:
    """Takes away those of the facts and messages that are the user's.

    With a fact goes all that says the same, with a message all that came only from it. What a fact says is not learned
    again; what went only with its messages may be.
    """
    removed = Removed(now)
    known = facts.of_user(connection, user_id, all_statuses=True)
    forgotten = _saying_the_same(connection, user_id, known, [one for one in known if one.id in fact_ids])
    said = list(messages.by_ids(connection, user_id, message_ids).values())
    gone = {message.id for message in said}
    for fact in forgotten:
        telling = {*fact.message_ids, *_telling(connection, user_id, fact)} - gone
        removed.tombstones.append(Seal(connection, user_id).add(fact, telling, now))
        removed.told_in |= telling
    chosen = {fact.id for fact in forgotten}
    orphaned = [
        one for one in known if one.id not in chosen and one.message_ids and gone.issuperset(one.message_ids)
    ]
    take_facts(connection, user_id, [*forgotten, *orphaned], removed, forgotten=forgotten, now=now)
    for slug in {fact.topic for fact in forgotten if fact.topic is not None}:
        topics.dissolve(connection, user_id, slug)  # its name may be in the words of the fact
    _drop_quotes(connection, known, said, removed)
    for message in said:
        _take_message(connection, message, removed, now)
    summaries.unmake(connection, user_id, removed.told_in, now)
    return removed


def take_facts(
    connection: sqlite3.Connection,
    user_id: int,
    going: Sequence[Fact],
    removed: Removed,
    *,
    forgotten: Sequence[Fact] = (),
    now: int,
) -> None:
    """Takes facts away with their history and vectors, and what the history of others says of them.

    Of those that are `forgotten` also what others' history says in other words.
    """
    ids = {fact.id for fact in going}
    for row_id, other, values in history.of_others(connection, user_id, ids):
        if other in ids:
            taking.empty(connection, "fact_history", row_id, "other_id", removed.taken)
        for column, value in values.items():
            if value is not None and _says(value, going, forgotten):
                taking.empty(connection, "fact_history", row_id, column, removed.taken)
    for fact in going:
        facts.unindex(connection, user_id, fact.id, now)
        taking.take(connection, "facts", fact.id, removed.taken)
    removed.fact_ids += sorted(ids)


def outdated(connection: sqlite3.Connection, edited: Message, now: int) -> None:
    """Takes away what is known only from a message's old text: facts whose words do not stand in the new one.

    Others lose it as their source. All of it may be learned again.
    """
    user_id, removed = edited.user_id, Removed(now)
    text = _plain(edited.content)
    drawn = [
        fact
        for fact in facts.of_user(connection, user_id, all_statuses=True)
        if edited.id in fact.message_ids and not (fact.quote and _plain(fact.quote) in text)
    ]
    going = [fact for fact in drawn if len(fact.message_ids) == 1]
    take_facts(connection, user_id, going, removed, now=now)
    _drop_quotes(connection, drawn, [edited], removed)
    for fact in drawn:
        values = {"fact": fact.id, "message": edited.id}
        taking.take_row(
            connection, "fact_sources", "fact_id = :fact AND message_id = :message", values, removed.taken
        )


def put_back(connection: sqlite3.Connection, user_id: int, removed: Removed, now: int) -> list[int]:
    """Undoes a removal. Returns the ids of facts that hold again: they want their vectors.

    What another removal forbids stays away; what was learned meanwhile stands.
    """
    learned = [
        fact for fact in facts.of_user(connection, user_id) if to_micros(fact.recorded_from) >= removed.at
    ]
    tombstones.lift(connection, user_id, removed.tombstones)
    taking.put_back(connection, removed.taken)
    seal = Seal(connection, user_id)
    back = facts.by_ids(connection, user_id, removed.fact_ids)
    for fact in [one for one in back if seal.against(one)]:
        facts.remove(connection, fact, now)
    here = [row["id"] for row in removed.taken.of("messages")]
    for message in messages.by_ids(connection, user_id, here).values():
        messages.count_in(connection, message, 1)
    active = [
        fact
        for fact in facts.by_ids(connection, user_id, removed.fact_ids)
        if fact.status == "active" and not _overtaken(connection, fact, learned, now)
    ]
    summaries.unmake(connection, user_id, {*removed.told_in, *here}, now)
    return [fact.id for fact in active]


def _saying_the_same(
    connection: sqlite3.Connection, user_id: int, known: Sequence[Fact], chosen: Sequence[Fact]
) -> list[Fact]:
    """The chosen facts, those that were merged into them, and all others of whatever status with the same claim."""
    claims = [claim(fact) for fact in chosen]
    ids = {fact.id for fact in chosen}
    ids |= {
        fact.id
        for fact in known
        if any("same" in (relate(claim(fact), one), relate(one, claim(fact))) for one in claims)
    }
    merged = [change for change in history.of_user(connection, user_id) if change.what == "merged"]
    while more := {one.fact_id for one in merged if one.other_id in ids} - ids:
        ids |= more
    return [fact for fact in known if fact.id in ids]


def _telling(connection: sqlite3.Connection, user_id: int, fact: Fact) -> set[int]:
    """Messages of the conversation, whoever's, that hold the words of a fact."""
    return keywords.with_all(connection, user_id, words_of(fact))


def _says(value: str, going: Iterable[Fact], forgotten: Iterable[Fact]) -> bool:
    if any(value.casefold() == fact.content.casefold() for fact in going):
        return True
    said = claim(FactDraft(value, ()))
    return any(relate(claim(fact), said) == "same" for fact in forgotten)


def _drop_quotes(
    connection: sqlite3.Connection, known: Iterable[Fact], said: Sequence[Message], removed: Removed
) -> None:
    """Where a fact has other messages too, a quote of one that goes does not stay."""
    gone = {message.id for message in said}
    for fact in known:
        if fact.quote is None or fact.id in removed.fact_ids or gone.isdisjoint(fact.message_ids):
            continue
        rest = messages.by_ids(connection, fact.user_id, set(fact.message_ids) - gone)
        quote = _plain(fact.quote)
        if not any(quote in _plain(message.content) for message in rest.values()):
            taking.empty(connection, "facts", fact.id, "quote", removed.taken)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _take_message(connection: sqlite3.Connection, message: Message, removed: Removed, now: int) -> None:
    user_id, taken = message.user_id, removed.taken
    embeddings.delete_one(connection, user_id, "message", message.id)
    payload: dict[str, object] = {"messages": [message.id]}
    jobs.enqueue(connection, jobs.UNINDEX, f"{user_id}:m{message.id}", now, user_id=user_id, payload=payload)
    messages.count_in(connection, message, -1)
    taking.take(connection, "messages", message.id, taken)
    if message.sender is not None and not messages.has_said(connection, user_id, message.sender):
        values = {"user": user_id, "name": message.sender}
        taking.take_row(connection, "speakers", "user_id = :user AND name = :name", values, taken)
    # The newest session may be the open one.
    condition = (
        "id = :id AND message_count = 0 AND archived_count = 0"
        " AND id < (SELECT max(id) FROM sessions WHERE user_id = :user)"
    )
    taking.take_row(connection, "sessions", condition, {"id": message.session_id, "user": user_id}, taken)
    removed.message_ids.append(message.id)


def _overtaken(connection: sqlite3.Connection, back: Fact, learned: Iterable[Fact], now: int) -> bool:
    """Ends a fact that has come back where another one, learned meanwhile, says the same or replaces it."""
    for newer in learned:
        relation = relate(claim(back), claim(newer))
        if relation == "other":
            continue
        status: Literal["merged", "superseded"] = "merged" if relation == "same" else "superseded"
        facts.close(connection, back.user_id, back.id, status, now)
        if relation == "same":
            facts.add_sources(connection, back.user_id, newer.id, back.message_ids)
        moment = from_micros(now)
        change = FactChange(back.id, status, "hand", newer.id, back.content, newer.content, moment, moment)
        history.add(connection, back.user_id, change)
        return True
    return False
