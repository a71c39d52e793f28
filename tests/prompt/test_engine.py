"""The engine's block, from messages of a megabyte: other work goes on meanwhile."""

from __future__ import annotations

from pathlib import Path

from handlers.asking import answer_turns
from keepsake.manager import MemoryManager
from keepsake.prompt.tokens import load_table
from keepsake.settings import load_settings
from tests.facts.ticks import Ticks


async def test_other_work_goes_on_while_megabytes_are_fitted(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, embedding_model="none", context_tokens=8000)
    load_table()  # which nothing can interrupt: the bot does it before it serves anyone
    async with MemoryManager(settings) as memory:
        for _ in range(5):
            await memory.save_message(7, "user", "x\n" * 500_000 + "привет", sender="S" * 100_000)
        question = await memory.save_message(7, "user", "hello " * 200_000)
        async with Ticks() as ticks:
            recalled = await memory.recall(7, "hello?", before=question.id)
        assert ticks.longest < 0.5
        recalled = await memory.recall(7, question.content, before=question.id)
    turns = answer_turns(recalled.block, recalled.message, question.created_at, "en")
    tokens = recalled.budget.measure.request(turn.content for turn in turns)
    assert settings.context_tokens * 0.9 < tokens <= settings.context_tokens
