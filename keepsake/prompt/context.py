"""What a question finds in memory: gathers all that may stand in its prompt, and puts together what fits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from keepsake.facts.profile import Profile
from keepsake.facts.sensitive import mask
from keepsake.locales import translate
from keepsake.models import Fact, ItemKind, Message
from keepsake.prompt.block import BlockParts, is_cut
from keepsake.prompt.learned import LearnedModels
from keepsake.prompt.request import Assembled, Budget, assemble
from keepsake.recall.question import Question
from keepsake.settings import Settings
from keepsake.store import summaries
from keepsake.store.storage import SQLiteMemoryStorage

_HISTORY = 4  # turns before a question that help to understand it

_Known = TypeVar("_Known")
ProfileOf = Callable[[int, str, datetime], Awaitable[Profile]]


class Search(Protocol):
    """Messages about a question with scores, best first (keepsake.engine.Engine.search)."""

    def __call__(
        self, question: Question, limit: int, *, above_floor: bool = False
    ) -> Awaitable[list[tuple[Message, float]]]: ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """What memory gives for one question: the block, what stands in it by id, and the messages that were found.

    `message` is the question, cut where it alone exceeds the budget; `sections` says how many tokens each part takes.
    """

    block: str
    memories: tuple[tuple[ItemKind, int, float], ...]
    found: tuple[tuple[Message, float], ...]
    message: str
    sections: tuple[tuple[str, int], ...]
    budget: Budget


class Contexts:
    """Makes context blocks. `profile` chooses facts for a question, `search` finds messages."""

    def __init__(
        self,
        settings: Settings,
        storage: SQLiteMemoryStorage,
        models: LearnedModels,
        *,
        profile: ProfileOf,
        search: Search,
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._models = models
        self._profile = profile
        self._search = search

    async def recall(
        self,
        user_id: int,
        query: str,
        *,
        stm_size: int | None = None,
        ltm_size: int | None = None,
        before: int | None = None,
        now: datetime | None = None,
        model: str | None = None,
        said: Sequence[Message] = (),
        remembered: bool = True,
    ) -> Recalled:
        """The context block for a question, with what stands in it, as it fits `model`. `now`: default the clock's.

        `said`: what was said since, and stands nowhere in the store. `remembered` False: the block has only that.
        """
        settings = self._settings
        now = now or self._storage.now()
        stm_size = settings.stm_size if stm_size is None else stm_size
        ltm_size = settings.ltm_size if ltm_size is None else ltm_size
        size = stm_size + ltm_size
        kept = await self._storage.last_messages(user_id, size, before) if remembered else []
        recent = [*kept, *said][-size:] if size else []
        stm = recent[-stm_size:] if stm_size else []
        ltm = recent[: len(recent) - len(stm)]
        question = Question(
            user_id,
            query,
            history=[message.content for message in recent[-_HISTORY:]],
            before=before,
            now=now,
            # What is cut short in the LTM may be recalled, and then stands whole in the RAG instead.
            without={message.id for message in recent} - {one.id for one in ltm if is_cut(one.content)},
        )
        everything_stands_there = len(recent) < size and len(question.without) == len(recent)
        # The search waits for its embedding; all else is read meanwhile.
        limit = settings.rag_size if remembered and not everything_stands_there else 0
        found, known, known_summaries, language, budget = await asyncio.gather(
            self._search(question, limit, above_floor=True),
            self._profile(user_id, query, now) if remembered else _nothing(Profile()),
            self._summaries(user_id, recent, before) if remembered else _nothing([]),
            self._storage.language(user_id),
            self._models.budget(model),
        )
        recalled = {message.id for message, _ in found}
        say = partial(translate, language or settings.default_language)
        everything = BlockParts(
            facts=[fact for fact, _ in known.facts],
            topics=[(topic.title or say(topic.title_key), topic.hook) for topic in known.topics],
            summaries=known_summaries,
            stm=stm,
            ltm=[message for message in ltm if message.id not in recalled],
            rag=[(replace(message, content=mask(message.content)), score) for message, score in found],
        )
        # On a thread: messages may be megabytes.
        made = await asyncio.to_thread(assemble, everything, query, budget, say)
        return Recalled(
            made.block, _memories(made, known.facts), tuple(found), made.message, made.sections, budget
        )

    async def _summaries(
        self, user_id: int, recent: Sequence[Message], before: int | None
    ) -> list[tuple[datetime, str]]:
        """The newest ones; of messages that all stand in the block themselves none is needed."""
        shown_from = recent[0].id if recent else 0
        newest = await self._storage.database.read(
            summaries.newest, user_id, self._settings.summaries_in_prompt, before
        )
        return [(one.said_at, one.content) for one in newest if one.first_id < shown_from]


async def _nothing(known: _Known) -> _Known:
    return known


def _memories(
    made: Assembled, facts: Sequence[tuple[Fact, float]]
) -> tuple[tuple[ItemKind, int, float], ...]:
    shown = {fact.id for fact in made.parts.facts}
    memories: list[tuple[ItemKind, int, float]] = [
        ("fact", fact.id, round(score, 4)) for fact, score in facts if fact.id in shown
    ]
    memories += [("message", message.id, round(score, 4)) for message, score in made.parts.rag]
    return tuple(memories)
