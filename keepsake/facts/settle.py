"""Brings grounded drafts into the store, reconciled with what is known at that moment, in the caller's transaction.

Whoever writes facts (extraction, a command, consolidation) comes through here. Since the store has one writer, nobody
decides on a state that another one is changing: no fact is lost, none stands there twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

from keepsake.clock import from_micros, to_micros
from keepsake.facts.normalise import normalise
from keepsake.facts.reconcile import Decision, Known, inheriting, reconcile
from keepsake.forgetting.seal import Seal
from keepsake.models import Fact, FactChange, FactDraft, FactWhat, MadeBy, TopicNote
from keepsake.store import facts, history, topics


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft with what was found out before the transaction: cosines with facts, and messages that it takes back.

    `instead_of`: the fact that it corrects, whatever the two say.
    """

    draft: FactDraft
    cosines: Mapping[int, float] = field(default_factory=dict)
    correcting: Collection[int] = ()
    instead_of: int | None = None


def settle(
    connection: sqlite3.Connection,
    user_id: int,
    proposals: Sequence[Proposal],
    *,
    now: int,
    made_by: MadeBy,
    gate: float,
) -> list[int]:
    """Stores what is new, ends what no longer holds, writes the history. Returns the ids of what is new and holds.

    What the user has had forgotten is not learned again, unless by hand.
    """
    known = {fact.id: fact for fact in facts.of_user(connection, user_id, all_statuses=True)}
    stored: list[int] = []
    seal = Seal(connection, user_id)
    for proposal in proposals:
        draft = normalise(proposal.draft)
        if made_by == "hand":
            seal.lift(draft)
        elif seal.against(draft) or _sources_are_gone(connection, user_id, draft):
            continue
        decision = reconcile(draft, Known(list(known.values()), proposal.cosines, gate, proposal.correcting))
        wrong = known.get(proposal.instead_of) if proposal.instead_of is not None else None
        if wrong is not None and wrong not in decision.merged:
            others = tuple(one for one in decision.ended if one[0].id != wrong.id)
            decision = replace(decision, ended=(*others, (wrong, "corrected")))
        fact_id = _carry_out(connection, user_id, decision, now, made_by, wrong)
        if fact_id is None:
            continue
        closed = [*(one.id for one in decision.merged), *(one.id for one, _ in decision.ended)]
        # One draft may take the place of another one of the same transaction.
        stored = [one for one in (*stored, fact_id) if one not in closed]
        known |= {one.id: one for one in facts.by_ids(connection, user_id, [fact_id, *closed])}
    return stored


def _sources_are_gone(connection: sqlite3.Connection, user_id: int, draft: FactDraft) -> bool:
    """It was drawn from messages that were forgotten meanwhile, and from nothing else."""
    return bool(draft.message_ids) and facts.said_at(connection, user_id, draft.message_ids) is None


def expire(connection: sqlite3.Connection, now: int) -> None:
    """Ends the facts of everybody whose last day is over (F7)."""
    for fact in facts.on_or_past_last_day(connection, now):
        if fact.ends is not None and from_micros(now) >= fact.ends:
            end(connection, fact, now=now)


def end(connection: sqlite3.Connection, fact: Fact, *, now: int) -> None:
    """Keeps a fact as one that holds no more: by its date where that has come, else from now on."""
    until = min(now, to_micros(fact.valid_until)) if fact.valid_until else now
    facts.close(connection, fact.user_id, fact.id, "expired", now)
    note = partial(_note, connection, fact.user_id, made_by="prune", now=now, at=until)
    note(fact.id, "expired", before=fact.content)


def merge(
    connection: sqlite3.Connection,
    user_id: int,
    same: Sequence[Fact],
    content: str,
    *,
    now: int,
    made_by: MadeBy,
) -> int:
    """Puts one fact in the place of several that say the same, and returns its id. The last one's fields are taken."""
    draft = FactDraft(
        **{one.name: getattr(same[-1], one.name) for one in fields(FactDraft) if hasattr(same[-1], one.name)}
    )
    decision = Decision("agrees", inheriting(replace(draft, content=content), same), tuple(same))
    merged = _carry_out(connection, user_id, decision, now, made_by)
    assert merged is not None
    return merged


def supersede(connection: sqlite3.Connection, old: Fact, by: Fact, *, now: int, made_by: MadeBy) -> None:
    """Ends a fact that another one contradicts, from when that holds."""
    at = to_micros(by.valid_from or by.created_at)
    facts.close(connection, old.user_id, old.id, "superseded", now, at)
    note = partial(_note, connection, old.user_id, made_by=made_by, now=now, at=at)
    note(old.id, "superseded", other=by.id, before=old.content, after=by.content)


def forget(connection: sqlite3.Connection, fact: Fact, *, now: int, made_by: MadeBy) -> None:
    """Takes a fact out of use and keeps its row: nothing is removed by a model's word."""
    facts.close(connection, fact.user_id, fact.id, "forgotten", now, now)
    note = partial(_note, connection, fact.user_id, made_by=made_by, now=now, at=now)
    note(fact.id, "forgotten", before=fact.content)


def _carry_out(
    connection: sqlite3.Connection,
    user_id: int,
    decision: Decision,
    now: int,
    made_by: MadeBy,
    wrong: Fact | None = None,
) -> int | None:
    """The id of the new row. `wrong`: what it is the right wording of, so that it holds since then."""
    draft = decision.draft
    at = facts.said_at(connection, user_id, draft.message_ids)
    at = now if at is None else at
    note = partial(_note, connection, user_id, made_by=made_by, now=now, at=at)
    if decision.what == "yields" and decision.against is not None:
        note(decision.against.id, "doubted", before=decision.against.content, after=draft.content)
    if decision.what in ("known", "yields"):
        return None
    merged = decision.merged
    since = merged if wrong is None or wrong in merged else (*merged, wrong)
    fact_id = facts.insert(
        connection,
        user_id,
        draft,
        now,
        said_at=at,
        since=min((to_micros(one.valid_from or one.created_at) for one in since), default=None),
        hits=sum(one.hits for one in merged),
        last_hit_at=max((to_micros(one.last_hit_at) for one in merged if one.last_hit_at), default=None),
    )
    if draft.topic is not None:
        named = TopicNote(draft.topic, draft.topic_title, draft.topic_hook)
        topics.note(connection, user_id, named, made_by=made_by, now=now)
    what: FactWhat = "agreed" if merged else "returned" if decision.returns else "learned"
    note(fact_id, what, other=merged[0].id if merged else None, after=draft.content)
    for one in merged:
        facts.close(connection, user_id, one.id, "merged", now)
        note(one.id, "merged", other=fact_id, before=one.content, after=draft.content)
    for one, ending in decision.ended:
        # What was corrected never held.
        until = to_micros(one.valid_from or one.created_at) if ending == "corrected" else at
        facts.close(connection, user_id, one.id, "superseded", now, until)
        note(one.id, ending, other=fact_id, before=one.content, after=draft.content)
    return fact_id


def _note(
    connection: sqlite3.Connection,
    user_id: int,
    fact_id: int,
    what: FactWhat,
    *,
    made_by: MadeBy,
    now: int,
    at: int,
    other: int | None = None,
    before: str | None = None,
    after: str | None = None,
) -> None:
    change = FactChange(fact_id, what, made_by, other, before, after, from_micros(at), from_micros(now))
    history.add(connection, user_id, change)
