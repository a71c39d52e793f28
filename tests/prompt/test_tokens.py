"""Tokens as the model counts them: by its table, and for unknown models as its answers teach."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keepsake.errors import ContextTooLong
from keepsake.manager import MemoryManager
from keepsake.models import AnswerEvent, LearnedModel
from keepsake.prompt.calibration import FORGET_LIMIT, LEAST_CONTEXT, calibrated, context_tokens, shrunk
from keepsake.prompt.tokens import Measure, Table, estimate, table_of
from keepsake.settings import load_settings
from tests.prompt.histories import text

NOW = datetime(2026, 3, 11, tzinfo=UTC)
NEW = LearnedModel("somebody/unheard-of-7b")


@pytest.mark.parametrize(
    ("model", "table"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("gpt-5-nano", "o200k_base"),
        ("ft:gpt-4o-mini:acme::x", "o200k_base"),
        ("gpt-oss:20b", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-35-turbo", "cl100k_base"),
        ("Qwen2.5-Coder-1.5B-Instruct", "qwen3"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("qwen2.5:7b", "qwen3"),
        ("qwen3.5-plus", None),
        ("llama3.1:8b", "llama3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama3"),
        ("llama-4-scout", None),
        ("mistral-small", None),
        ("claude-opus-4", None),
        ("", None),
    ],
)
def test_the_table_is_told_by_the_name(model: str, table: Table | None) -> None:
    assert table_of(model) == table


# As the tokenizers of OpenAI, Qwen and Meta count them.
@pytest.mark.parametrize(
    ("table", "tokens"), [("o200k_base", 8), ("cl100k_base", 10), ("qwen3", 9), ("llama3", 9)]
)
def test_tables_differ_from_family_to_family(table: Table, tokens: int) -> None:
    assert Measure(table).count("Привет, как дела? hello there") == tokens
    assert Measure(table, 1.5).count("Привет, как дела? hello there") == -(-tokens * 3 // 2)


def test_words_of_a_template_are_text() -> None:
    assert Measure().count("<|endoftext|>") > 1


def test_without_a_table_too_many_are_reckoned_rather_than_too_few() -> None:
    chance = random.Random(1)
    for _ in range(200):
        words = text(chance, 60)
        if not any(sign in words for sign in "👍🇻👩{["):  # prose
            assert estimate(words) > 0.9 * Measure("o200k_base").count(words)


@pytest.mark.parametrize("real", ["cl100k_base", "qwen3", "llama3"])
def test_after_ten_answers_an_unknown_model_is_never_counted_under_by_more_than_five_percent(
    real: Table,
) -> None:
    """Its own table is one that the name does not tell, with a template's tokens on top; texts in all languages."""
    chance = random.Random(real)
    worst = 1.0
    learned = NEW
    for answer in range(400):
        request = ["x " * 250, *(text(chance, 30) for _ in range(40))]
        said = Measure(real).request(request) + 20
        if answer >= 10:
            worst = min(worst, Measure(factor=learned.factor).request(request) / said)
        learned = calibrated(learned, Measure().request(request), said, exact=False)
    assert learned.answers == 400
    assert worst >= 0.95
    assert Measure(factor=learned.factor).request(request) / said < 1.25


def test_a_model_that_counts_much_more_is_followed_at_once_and_forgotten_slowly() -> None:
    once = calibrated(NEW, 1000, 1800, exact=False)
    assert 1.8 <= once.factor < 1.9
    after = once
    for _ in range(20):
        after = calibrated(after, 1000, 1000, exact=False)
    assert 1.3 < after.factor < once.factor


def test_a_count_that_leaves_out_what_a_cache_holds_is_not_believed_of_a_known_model() -> None:
    learned = NEW
    for _ in range(100):
        learned = calibrated(learned, 1000, 100, exact=True)
    assert learned.factor == 1.0
    for _ in range(1000):
        learned = calibrated(learned, 1000, 100, exact=False)
    assert learned.factor == pytest.approx(0.75, abs=0.001)
    assert calibrated(NEW, 20, 200, exact=False) == NEW  # mostly what the server adds


def test_a_refusal_shrinks_the_budget_to_what_the_endpoint_says() -> None:
    def limit(requested: int, limit: int | None = None, asked: int | None = None) -> int | None:
        return shrunk(NEW, requested=requested, limit=limit, asked=asked, answer_tokens=600, now=NOW).limit

    assert limit(4000) == 2000
    assert limit(100_000, limit=4096) == int(0.95 * (4096 - 600))
    assert limit(4000, limit=4096, asked=8000) == int(
        0.95 * (4096 - 600) / 2
    )  # it counts twice as many as we
    assert limit(4000, limit=32_000) == 3800
    assert limit(700, limit=512) == LEAST_CONTEXT


def test_what_a_refusal_taught_is_forgotten_after_a_week() -> None:
    small = shrunk(NEW, requested=4000, limit=None, asked=None, answer_tokens=600, now=NOW)
    assert context_tokens(NEW, 4000, NOW) == 4000
    assert context_tokens(small, 4000, NOW) == 2000
    assert context_tokens(small, 1000, NOW) == 1000
    assert context_tokens(small, 4000, NOW + FORGET_LIMIT + timedelta(seconds=1)) == 4000


async def test_what_was_learned_outlives_the_process(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, embedding_model="none")
    async with MemoryManager(settings) as memory:
        asked = await memory.save_message(7, "user", "hello")
        first = (await memory.recall(7, "hello?")).budget
        assert (first.tokens, first.measure) == (4000, Measure())
        event = AnswerEvent(7, asked.id, None, NEW.name, 5, prompt_tokens=2000, counted_tokens=1000)
        await memory.record_answer(event)
        await memory.too_long(ContextTooLong("too long", model=NEW.name), 3000)
    async with MemoryManager(settings) as memory:
        budget = (await memory.recall(7, "hello?", model=NEW.name)).budget
        assert budget.tokens == 1500
        assert 2.0 <= budget.measure.factor < 2.1
        assert (
            await memory.recall(7, "hello?")
        ).budget == budget  # the last one used, where no setting names one
        assert (await memory.recall(7, "hello?", model="another")).budget.tokens == 4000
