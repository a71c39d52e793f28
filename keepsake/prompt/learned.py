"""What is known of each chat model: how it counts, and how long a request may be. Kept in SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from keepsake.clock import Clock, to_micros
from keepsake.errors import ContextTooLong
from keepsake.models import AnswerEvent, LearnedModel
from keepsake.prompt.budget import Shares
from keepsake.prompt.calibration import calibrated, context_tokens, shrunk
from keepsake.prompt.request import Budget
from keepsake.prompt.tokens import O200K, Measure, load_table, table_of
from keepsake.settings import Settings
from keepsake.store import learned
from keepsake.store.database import Database


class LearnedModels:
    """Budgets by model, learning from answers and refusals. Rows are read once and kept in RAM."""

    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._known: dict[str, LearnedModel] = {}
        self._shares = Shares(
            settings.budget_system, settings.budget_memory, settings.budget_history, settings.budget_message
        )

    async def budget(self, model: str | None) -> Budget:
        """The budget of a request to this model. None: the one that the settings name, else the last one used."""
        known = await self._of(
            model or self._settings.model_name or await self._database.read(learned.last_used)
        )
        measure = Measure(table_of(known.name) or O200K, known.factor)
        tokens = context_tokens(known, self._settings.context_tokens, self._clock())
        return Budget(tokens, measure, self._shares)

    async def least(self, models: Sequence[str]) -> Budget:
        """The budget of a request that each of these models can read."""
        budgets = [await self.budget(name or None) for name in models or ("",)]
        return min(budgets, key=lambda budget: budget.tokens)

    async def load(self) -> None:
        """Loads the table of the model that answers, so that the first who asks does not wait for it."""
        budget = await self.budget(None)
        await asyncio.to_thread(load_table, budget.measure.table)

    async def answered(self, event: AnswerEvent) -> None:
        """An answer came: learns from the tokens of its request, by the table and by the endpoint."""
        model, counted, said = event.model, event.counted_tokens, event.prompt_tokens
        if counted is None or said is None:
            return
        exact = table_of(model) is not None
        before = await self._of(model)
        if calibrated(before, counted, said, exact=exact) != before:
            await self._learn(model, partial(calibrated, counted=counted, said=said, exact=exact))

    async def too_long(self, refusal: ContextTooLong, requested: int) -> None:
        """A request of `requested` tokens, as the budget counts them, was refused: the next ones are shorter.

        What is learned is kept under the name of the model that refused it.
        """
        step = partial(
            shrunk,
            requested=requested,
            limit=refusal.limit,
            asked=refusal.asked,
            answer_tokens=self._settings.answer_tokens,
            now=self._clock(),
        )
        await self._learn(refusal.model, step)

    async def _of(self, model: str | None) -> LearnedModel:
        name = model or ""
        if name not in self._known:
            self._known[name] = await self._database.read(learned.get, name)
        return self._known[name]

    async def _learn(self, model: str, step: partial[LearnedModel]) -> None:
        now = to_micros(self._clock())
        self._known[model] = await self._database.write(learned.change, model, step, now)
