"""What a consolidation does to the store, in one transaction, and the report of it.

Everything is decided on the facts as they stand inside that transaction. What a model wants done with facts that have
changed since it was asked, that are somebody else's or that there are none of is refused and counted.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from keepsake.clock import to_micros
from keepsake.facts import allowed, settle
from keepsake.facts.consolidation import Answer
from keepsake.facts.settle import Proposal
from keepsake.facts.topics import worthy
from keepsake.forgetting.cleaning import clean
from keepsake.index.terms import content_words
from keepsake.models import Fact, FactChange, Message, TopicNote
from keepsake.settings import Settings
from keepsake.store import facts, history, topics

_MOST_TOPICS = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model answered for one window of messages. `proposals` are its new facts, grounded in that window."""

    window: Sequence[Message]
    answer: Answer
    proposals: Sequence[Proposal] = ()


@dataclass(slots=True)
class Changes:
    """What was changed, with contents, and how much was refused for which reason."""

    new: list[dict[str, Any]] = field(default_factory=list)
    merged: list[dict[str, Any]] = field(default_factory=list)
    superseded: list[dict[str, Any]] = field(default_factory=list)
    forgotten: list[dict[str, Any]] = field(default_factory=list)
    expired: list[dict[str, Any]] = field(default_factory=list)
    removed: list[dict[str, Any]] = field(default_factory=list)
    topics: list[dict[str, Any]] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def counts(self) -> dict[str, Any]:
        """The same without a word of the person's."""
        return {
            name: len(value) if isinstance(value, list) else value for name, value in asdict(self).items()
        }


def tidy(
    connection: sqlite3.Connection,
    user_id: int,
    asked: Iterable[Asked],
    known: Mapping[int, Fact],
    settings: Settings,
    *,
    now: datetime,
    gate: float,
    refused: Mapping[str, int],
    queue: Callable[[sqlite3.Connection, int, Sequence[int]], None],
) -> Changes:
    """Carries out what was asked for and is allowed, then what needs no model; a step of a transaction.

    `known`: the facts that the model was asked about, by id; `queue` has new facts embedded. What was refused before is
    counted in as `refused`.
    """
    run = _Run(connection, user_id, known, to_micros(now), Counter(refused))
    before = history.newest(connection)
    run.expire()
    stored: list[int] = []
    for one in asked:
        stored += run.obey(one)
        proposals = run.sayable(one)
        stored += settle.settle(connection, user_id, proposals, now=run.now, made_by="dream", gate=gate)
        run.name_topics(one.answer.topics, stored)
    stored += run.merge_duplicates()
    removed = [
        one for one in clean(connection, settings, now=now, user_id=user_id) if one.action == "removed"
    ]
    topics.drop_empty(connection, user_id)
    active = {fact.id for fact in facts.of_user(connection, user_id)}
    queue(connection, user_id, [one for one in dict.fromkeys(stored) if one in active])
    changes = _reported(history.of_user(connection, user_id, before))
    changes.removed = [{"id": one.fact.id, "rule": one.rule, "content": one.fact.content} for one in removed]
    changes.topics = run.topics
    changes.refused = {why: number for why, number in run.refused.items() if number}
    return changes


class _Run:
    """One consolidation inside its transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        user_id: int,
        known: Mapping[int, Fact],
        now: int,
        refused: Counter[str],
    ) -> None:
        self.now = now
        self.refused = refused
        self.topics: list[dict[str, Any]] = []
        self._connection = connection
        self._user_id = user_id
        self._known = known

    def expire(self) -> None:
        """Ends what is past its last day."""
        for fact in facts.on_or_past_last_day(self._connection, self.now):
            if fact.user_id == self._user_id and fact.ends is not None and to_micros(fact.ends) <= self.now:
                settle.end(self._connection, fact, now=self.now)

    def obey(self, asked: Asked) -> list[int]:
        """Does what the model wants done with known facts, as far as that is allowed; ids of merged ones."""
        stored = []
        for ids, content in asked.answer.merges:
            same = self._held(ids)
            if same is not None and self._may(allowed.may_merge(same)):
                stored.append(self._merge(same, allowed.merged_content(content, same)))
        for old_id, by_id in asked.answer.supersedes:
            pair = self._held((old_id, by_id))
            if pair is not None and self._may(allowed.may_supersede(*pair)):
                settle.supersede(self._connection, *pair, now=self.now, made_by="dream")
        for one in asked.answer.forgets:
            held = self._held((one,))
            if held is not None and self._may(allowed.may_forget(held[0], asked.window)):
                settle.forget(self._connection, held[0], now=self.now, made_by="dream")
        return stored

    def sayable(self, asked: Asked) -> list[Proposal]:
        """The new facts that may be stored."""
        held = facts.of_user(self._connection, self._user_id)
        return [one for one in asked.proposals if self._may(allowed.may_say(one.draft, held, asked.window))]

    def merge_duplicates(self) -> list[int]:
        """Makes one of what claims the same, model or not."""
        groups = allowed.duplicates(facts.of_user(self._connection, self._user_id))
        return [self._merge(same, max(same, key=allowed.last_said).content) for same in groups]

    def name_topics(self, named: Iterable[tuple[TopicNote, Sequence[int]]], stored: Collection[int]) -> None:
        """Puts facts into the topics that the model names."""
        for note, ids in named:
            if len(self.topics) >= _MOST_TOPICS:
                self.refused["too_many"] += 1
                continue
            found = facts.by_ids(self._connection, self._user_id, ids)
            held = [
                fact
                for fact in found
                if fact.status == "active" and (fact.id in self._known or fact.id in stored)
            ]
            self.refused["ids"] += len(set(ids)) - len(held)
            # One that was forgotten meanwhile may have lent the topic its name.
            if (set(ids) & self._known.keys()) - {fact.id for fact in found}:
                self.refused["topic"] += 1
            elif held:
                self._name_topic(note, held)

    def _name_topic(self, note: TopicNote, held: Sequence[Fact]) -> None:
        texts = [text for fact in held for text in (fact.content, fact.object, fact.quote) if text]
        fair = worthy(note, texts, content_words)
        self.refused["topic"] += (note.title, note.hook) != (fair.title, fair.hook)
        topics.note(self._connection, self._user_id, fair, made_by="dream", now=self.now)
        topics.assign(self._connection, self._user_id, fair.slug, [fact.id for fact in held])
        self.topics.append({**asdict(fair), "fact_ids": [fact.id for fact in held]})

    def _held(self, ids: Sequence[int]) -> list[Fact] | None:
        """These facts as they stand now, oldest first as given; None where one is unknown or has changed."""
        found = {fact.id: fact for fact in facts.by_ids(self._connection, self._user_id, ids)}
        if len(set(ids)) != len(ids) or any(one not in found for one in ids):
            self.refused["ids"] += 1
            return None
        if any(one not in self._known or found[one].status != "active" for one in ids):
            self.refused["changed"] += 1
            return None
        return [found[one] for one in ids]

    def _may(self, why: str | None) -> bool:
        if why is not None:
            self.refused[why] += 1
        return why is None

    def _merge(self, same: Sequence[Fact], content: str) -> int:
        in_order = sorted(same, key=allowed.last_said)
        return settle.merge(self._connection, self._user_id, in_order, content, now=self.now, made_by="dream")


def _reported(changes: Sequence[FactChange]) -> Changes:
    report = Changes()
    taken: dict[int, list[int]] = {}
    for one in changes:
        if one.what == "merged" and one.other_id is not None:
            taken.setdefault(one.other_id, []).append(one.fact_id)
    for one in changes:
        line: dict[str, Any] = {"id": one.fact_id, "content": one.to_value or one.from_value}
        match one.what:
            case "learned" | "returned":
                report.new.append(line)
            case "agreed":
                report.merged.append({**line, "ids": taken.get(one.fact_id, [])})
            case "superseded" | "denied" | "corrected":
                report.superseded.append({"id": one.fact_id, "by": one.other_id, "content": one.from_value})
            case "forgotten":
                report.forgotten.append(line)
            case "expired":
                report.expired.append(line)
    return report
