"""Which handler works on which kind of background job, and how many of a kind at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from keepsake.archive.service import Archive
from keepsake.clock import Clock
from keepsake.errors import ArchiveError
from keepsake.facts.dream import Dreamer
from keepsake.facts.keeper import FactKeeper
from keepsake.forgetting.cleaning import clean
from keepsake.forgetting.removal import SCRUB, Removal
from keepsake.forgetting.service import ERASE, HOLD, PRUNE, Forgetting
from keepsake.index.vector_storage import VectorMemoryStorage
from keepsake.jobs import Done, Lane
from keepsake.llm.account import Account, on_account
from keepsake.models import Job
from keepsake.parts import Parts
from keepsake.prompt.learned import LearnedModels
from keepsake.prompt.summaries import Summariser
from keepsake.settings import Settings
from keepsake.store import users
from keepsake.store.jobs import (
    CHROMA,
    CONSOLIDATE,
    DREAM,
    DREAM_CHECK,
    EMBED,
    EXPIRE,
    EXTRACT,
    IDLE,
    REREAD,
    SUMMARISE,
    UNINDEX,
)
from keepsake.store.storage import SQLiteMemoryStorage
from keepsake.verify import fix

REINDEX, FIX = "reindex", "fix"
ASKS_A_MODEL = (EXTRACT, REREAD, SUMMARISE, DREAM)  # jobs that wait for a model, and catch up when it is back
_EXTRACTIONS_AT_ONCE = 2


class Workshop:
    """Joins the parts of an engine to the jobs that they do. `account`: whom a job's requests are counted on."""

    def __init__(
        self,
        settings: Settings,
        storage: SQLiteMemoryStorage,
        parts: Parts,
        clock: Clock,
        *,
        vectors: VectorMemoryStorage | None,
        facts: FactKeeper,
        models: LearnedModels,
        forgetting: Forgetting,
        removal: Removal,
        archive: Archive,
        account: Callable[[int], Account],
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._parts = parts
        self._clock = clock
        self._vectors = vectors
        self._facts = facts
        self._models = models
        self._forgetting = forgetting
        self._removal = removal
        self._archive = archive
        self._account = account

    def lanes(self) -> dict[str, Lane]:
        """A lane for each kind of job that these parts can do; others wait."""
        model = self._parts.model
        summariser = Summariser(self._storage.database, self._models, model, self._settings, self._clock)
        dreamer = Dreamer(
            self._settings,
            self._storage,
            self._facts,
            self._models,
            model,
            model_comes_later=self._parts.model_comes_later,
        )
        lanes: dict[str, Lane] = {
            CONSOLIDATE: Lane(dreamer.work),
            ERASE: Lane(self._forgetting.erase),
            SCRUB: Lane(self._removal.scrub),
            HOLD: Lane(self._forgetting.hold),
            PRUNE: Lane(self._prune),
            REINDEX: Lane(self._reindex),
            FIX: Lane(self._fix),
            EXPIRE: Lane(self._facts.expire),
            IDLE: Lane(self._facts.idle),
            **self._archive.lanes(),
        }
        if self._parts.serving:
            lanes[DREAM_CHECK] = Lane(dreamer.check)
            lanes[DREAM] = Lane(dreamer.work)
        if not self._parts.model_comes_later:
            lanes[SUMMARISE] = Lane(summariser.work)
        if self._vectors is not None:
            lanes[EMBED] = Lane(self._vectors.embed)
            lanes[UNINDEX] = Lane(self._vectors.unindex)
            if self._parts.chroma is not None:
                lanes[CHROMA] = Lane(self._vectors.fill_chroma)
        if self._parts.extractor is not None:
            extract = partial(self._facts.extract, self._parts.extractor, model)
            lanes[EXTRACT] = Lane(extract, _EXTRACTIONS_AT_ONCE)
            lanes[REREAD] = Lane(partial(self._facts.reread, self._parts.extractor, model))
        return {
            kind: Lane(partial(self._charged, lane.handler), lane.at_once) for kind, lane in lanes.items()
        }

    async def _charged(self, handler: Callable[[Job], Awaitable[Done]], job: Job) -> Done:
        with on_account(self._account(job.user_id) if job.user_id is not None else None):
            return await handler(job)

    async def _reindex(self, job: Job) -> Done:
        everybody = await self._storage.database.read(users.all_ids) if job.user_id is None else []
        if self._vectors is not None:
            if job.user_id is None:
                await self._vectors.rebuild_all(everybody)
            else:
                await self._vectors.rebuild(job.user_id)
        return Done(result={"users": len(everybody) or 1})

    async def _fix(self, _job: Job) -> Done:
        await asyncio.to_thread(self._forgetting.ledger.close_key)
        with suppress(ArchiveError):  # the check says what is the matter
            await self._archive.delete_strays()
        return Done(commit=partial(fix, now=self._clock()))

    async def _prune(self, _job: Job) -> Done:
        # Its own transaction: what went is told, and a kill between the two only tells less.
        gone = await self._storage.database.write(clean, self._settings, now=self._clock())
        return Done(result={"facts": [verdict.as_dict() for verdict in gone]})
