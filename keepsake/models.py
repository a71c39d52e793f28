"""The records that travel between the parts. Plain data: no rules, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

Role = Literal["user", "assistant"]
ItemKind = Literal["message", "fact"]
Category = Literal["personal", "technical", "preferences", "projects", "relations", "events", "other"]
FactType = Literal["fact", "preference", "event", "relation"]
FactStatus = Literal["active", "superseded", "merged", "expired", "forgotten"]
FactOrigin = Literal["by_hand", "extracted", "consolidated", "imported"]
FactWhat = Literal[
    "learned",
    "agreed",
    "returned",
    "merged",
    "superseded",
    "denied",
    "corrected",
    "doubted",
    "expired",
    "forgotten",
]
Memories = tuple[tuple[ItemKind, int, float], ...]  # kind, id and score of what an answer was given
MadeBy = Literal["extraction", "hand", "dream", "prune"]

CATEGORIES: tuple[Category, ...] = (
    "personal",
    "technical",
    "preferences",
    "projects",
    "relations",
    "events",
    "other",
)


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that was said. Times are aware and in UTC."""

    id: int
    user_id: int
    role: Role
    content: str
    created_at: datetime
    session_id: int
    sender: str | None = None
    sender_id: str | None = None


@dataclass(frozen=True, slots=True)
class DialogSession:
    """Messages with no pause longer than the session gap between them."""

    id: int
    user_id: int
    started_at: datetime
    ended_at: datetime | None
    summary: str | None
    message_count: int


@dataclass(frozen=True, slots=True)
class TopicNote:
    """What a model calls a topic of somebody's facts; None: it said nothing, or nothing that can be shown."""

    slug: str
    title: str | None = None
    hook: str | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is shown: `hook` on one line, its facts, the most important first.

    `title` None: it is the text `title_key` in the reader's language.
    """

    slug: str
    title: str | None
    hook: str
    fact_ids: tuple[int, ...]
    title_key: str


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact as it comes out of grounding, before it is stored.

    `importance` and `confidence` are 0–1, `valid_until` is the last day on which the fact holds.
    """

    content: str
    message_ids: tuple[int, ...]
    category: Category = "other"
    type: FactType = "fact"
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    topic: str | None = None
    topic_title: str | None = None
    topic_hook: str | None = None
    importance: float = 0.5
    confidence: float = 0.5
    vital: bool = False
    valid_until: datetime | None = None
    quote: str | None = None
    origin: FactOrigin = "extracted"
    model: str | None = None
    prompt_version: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known about a user, with where it comes from (requirements.md, F1)."""

    id: int
    user_id: int
    content: str
    category: Category
    type: FactType
    status: FactStatus
    origin: FactOrigin
    importance: float
    confidence: float
    vital: bool
    hits: int
    created_at: datetime
    updated_at: datetime
    recorded_from: datetime
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    topic: str | None = None
    last_hit_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    recorded_until: datetime | None = None
    quote: str | None = None
    model: str | None = None
    prompt_version: str | None = None
    message_ids: tuple[int, ...] = field(default=())
    archived_ids: tuple[int, ...] = field(default=())  # those of them that have left for the archive

    @property
    def ends(self) -> datetime | None:
        """When its last day is over, `valid_until` being that day's beginning. None: never; vital facts outlast it."""
        return None if self.vital or self.valid_until is None else self.valid_until + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class FactChange:
    """One thing that happened to a fact.

    `other_id`: the fact that did it, or that it came from; `valid_at`: when it changed in the world, `recorded_at`:
    when it changed here. `doubted`: a guess that would have replaced it was not believed.
    """

    fact_id: int
    what: FactWhat
    made_by: MadeBy
    other_id: int | None
    from_value: str | None
    to_value: str | None
    valid_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of background work, durable until it is done."""

    id: int
    kind: str
    user_id: int | None
    payload: dict[str, object]
    attempts: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens that one request took at a model; `estimated` of them were reckoned, since its endpoint does not say."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    estimated: int = 0


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of a day and of its month up to now, in UTC; `month_estimated` of the month's were reckoned."""

    day: int = 0
    month: int = 0
    month_estimated: int = 0


@dataclass(frozen=True, slots=True)
class ArchivedSource:
    """A message that has left for the archive: its id, and when it was said."""

    id: int
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Reason:
    """A memory that an answer was given, with its score.

    A fact with the messages it comes from, or a message alone. What was erased since is left out.
    """

    score: float
    fact: Fact | None
    messages: tuple[Message, ...]
    archived: tuple[ArchivedSource, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """What one answer cost and which memories it was given (K8). Latency in milliseconds.

    `counted_tokens`: of the request, as the model's table has them, without what was learned of it.
    """

    user_id: int
    question_id: int | None
    answer_id: int | None
    model: str
    latency_ms: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    memories: Memories = ()
    counted_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class LearnedModel:
    """What answers and refusals have taught about a chat model.

    `factor`: tokens of its own for one of the table that it is counted with; `limit`: tokens a request may have.
    """

    name: str
    factor: float = 1.0
    answers: int = 0
    limit: int | None = None
    limited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of messages, `first_id` to `last_id`, came to. `said_at`: when the last of them was said.

    `model` and `prompt_version` are None where no model made it.
    """

    id: int
    first_id: int
    last_id: int
    said_at: datetime
    content: str
    model: str | None = None
    prompt_version: str | None = None
