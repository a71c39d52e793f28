"""The background work of compaction: a run of messages that waits gets its summary."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from keepsake.clock import Clock, to_micros
from keepsake.errors import ContextTooLong
from keepsake.facts.sensitive import mask
from keepsake.forgetting.seal import Seal
from keepsake.jobs import Done
from keepsake.locales import translate
from keepsake.models import Job, Message
from keepsake.prompt.compaction import Asker, Made, summarise
from keepsake.prompt.learned import LearnedModels
from keepsake.settings import Settings
from keepsake.store import jobs, summaries, users
from keepsake.store.database import Database
from keepsake.store.jobs import SUMMARISE
from keepsake.store.summaries import Compaction, Run

log = logging.getLogger(__name__)

_CHARACTERS = 3  # a token of a conversation has about so many; it only decides when a run is due


def compaction_rules(settings: Settings) -> Compaction:
    """When messages become summaries: what is older than the context shows, or more than history's share."""
    share = settings.context_tokens * settings.budget_history // 100
    return Compaction(
        size=settings.summary_messages,
        kept=settings.summaries_in_prompt,
        in_full=settings.stm_size,
        condensed=settings.ltm_size,
        characters=share * _CHARACTERS,
    )


class Summariser:
    """Works on the jobs `summarise`. `model` None: the messages are condensed."""

    def __init__(
        self, database: Database, models: LearnedModels, model: Asker | None, settings: Settings, clock: Clock
    ) -> None:
        self._database = database
        self._models = models
        self._model = model
        self._settings = settings
        self._clock = clock

    async def work(self, job: Job) -> Done:
        """Makes the newest summary that is missing; the job comes again for the next one. Raises ModelUnavailable."""
        assert job.user_id is not None
        user_id, kept = job.user_id, self._settings.summaries_in_prompt
        run = await self._database.read(summaries.waiting, user_id, kept)
        if run is None:
            return Done()
        held = await self._database.read(summaries.messages_of, user_id, run)
        found = await self._database.read(_tellable, user_id, held)
        # What is masked wherever memory shows it must not be one of the exact values of a summary.
        masked = [replace(message, content=mask(message.content)) for message in found]
        made = await self._made(user_id, masked) if masked else Made("") if held else None
        return Done(partial(self._store, user_id=user_id, run=run, made=made))

    async def _made(self, user_id: int, found: Sequence[Message]) -> Made:
        language = await self._database.read(users.language, user_id) or self._settings.default_language
        say = partial(translate, language)
        names = self._model.names if self._model is not None else ()
        for again in (False, True):
            budget = await self._models.least(names)
            try:
                count = budget.measure.count
                return await summarise(self._model, found, tokens=budget.tokens, count=count, say=say)
            except ContextTooLong as refusal:
                log.warning("a summary: %s", refusal)
                await self._models.too_long(refusal, budget.tokens)
                if again:
                    raise
        raise AssertionError("the second try returns or raises")

    def _store(self, connection: sqlite3.Connection, *, user_id: int, run: Run, made: Made | None) -> None:
        now = to_micros(self._clock())
        if made is None:
            summaries.drop(connection, run)
        else:
            summaries.fill(
                connection, run, made.content, now, model=made.model, prompt_version=made.prompt_version
            )
        if summaries.waiting(connection, user_id, self._settings.summaries_in_prompt) is not None:
            jobs.enqueue(connection, SUMMARISE, str(user_id), now, user_id=user_id)


def _tellable(connection: sqlite3.Connection, user_id: int, messages: Sequence[Message]) -> list[Message]:
    """What a summary may be made of: a message that tells something the user had forgotten is left out."""
    return Seal(connection, user_id).untold(messages)
