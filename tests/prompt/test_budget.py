"""The request fits: whole items, best first, and the new message and the newest memories before older ones."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.asking import answer_turns
from keepsake.errors import SettingError
from keepsake.locales import translate
from keepsake.models import Message
from keepsake.prompt.block import BlockParts, render
from keepsake.prompt.budget import Shares, fit, section_tokens, shorten
from keepsake.prompt.request import Budget, assemble, fit_message, system_text
from keepsake.prompt.tokens import Measure, Table
from keepsake.settings import LANGUAGES, load_settings
from tests.prompt.histories import fact, memories, message, text

say = partial(translate, "en")
count = Measure().count
TABLES: tuple[Table, ...] = ("o200k_base", "qwen3")
fitted = partial(fit, say=say, count=count, shares=Shares())


def _identity(one: Message | tuple[Message, float]) -> tuple[int, float]:
    found, score = one if isinstance(one, tuple) else (one, 1.0)
    return found.id, score


@settings(max_examples=2000, deadline=None)
@given(st.integers(0, 2**32))
def test_no_history_is_ever_over_and_what_must_stand_stands(seed: int) -> None:
    chance = random.Random(seed)
    parts, new = memories(chance), text(chance, int(min(chance.paretovariate(0.5), 3000)))
    factor = chance.choice((1.0, 1.0, 0.8, 1.37, 2.5))
    measure = Measure(chance.choice(TABLES), factor)
    budget = Budget(int(chance.choice((500, 1000, 2000, 4000)) * max(1, factor)), measure)
    words = partial(translate, chance.choice(LANGUAGES))
    made = assemble(parts, new, budget, words)
    today, language = datetime(2026, 9, 1 + seed % 28, tzinfo=UTC), chance.choice(LANGUAGES)
    system, asked = answer_turns(made.block, made.message, today, language)

    total = measure.request((system.content, asked.content))
    assert total <= budget.tokens
    assert total <= sum(tokens for _, tokens in made.sections) <= budget.tokens
    assert system.content == f"{system_text(today, language)}\n\n{made.block}"
    if measure.count(new) <= budget.tokens * 0.15:
        assert asked.content == new
    elif asked.content != new:
        head, tail = asked.content.split("\n[…]\n")
        assert new.startswith(head) and new.endswith(tail)
    if budget.tokens >= 4000 * factor and asked.content == new and measure.count(new) < budget.tokens / 5:
        assert made.parts.facts[:1] == parts.facts[:1]
        for kept, given_ in ((made.parts.rag[:1], parts.rag[:1]), (made.parts.stm[-1:], parts.stm[-1:])):
            assert [_identity(one) for one in kept] == [_identity(one) for one in given_]
    assert [one.id for one in made.parts.stm] == [one.id for one in parts.stm][-len(made.parts.stm) or 999 :]


@pytest.mark.parametrize("context_tokens", [500, 700, 4000])
def test_a_huge_message_is_cut_in_the_request_and_leaves_room_for_memory(context_tokens: int) -> None:
    budget = Budget(context_tokens)
    known = BlockParts(facts=[fact(1, "Lives in Angarsk")])
    made = assemble(known, "begin " + "hello " * 16_000 + "end", budget, say)
    assert made.message.startswith("begin ") and made.message.endswith("end")
    assert "\n[…]\n" in made.message
    assert made.parts == known


def test_a_message_that_fits_alone_is_whole_and_memory_makes_room() -> None:
    long, budget = "a word and more " * 800, Budget(4000)
    assert 3000 < count(long) < 3600
    made = assemble(BlockParts(rag=[(message(1, "word " * 500), 0.9)]), long, budget, say)
    assert made.message == long
    assert fit_message(Budget(500), "hello") == "hello"


@given(st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_what_fits_stays_as_it_is(seed: int) -> None:
    parts = memories(random.Random(seed))
    assert fitted(parts, 10_000_000) == parts


def test_the_oldest_leaves_first_and_is_condensed_before_it_does() -> None:
    history = [message(i, f"number {i}: " + "a sentence of some length " * 4) for i in range(100)]
    kept = fitted(BlockParts(stm=history), 1000)
    assert 0 < len(kept.stm) < 100
    assert list(kept.stm) == history[-len(kept.stm) :]
    assert list(kept.ltm) == history[-len(kept.stm) - len(kept.ltm) : -len(kept.stm)]


def test_the_least_important_facts_leave_first() -> None:
    facts = [fact(i, "a fact of some length, number " + str(i)) for i in (9, 3, 7, 1)]
    kept = fitted(BlockParts(facts=facts), 130).facts
    assert 0 < len(kept) < 4
    assert list(kept) == facts[: len(kept)]


@pytest.mark.parametrize("shares", [Shares(), Shares(15, 45, 25, 15)])
def test_memory_keeps_its_share_beside_a_long_history(shares: Shares) -> None:
    history = [message(i, "word " * 40) for i in range(100)]
    found = [(message(1000 + i, "word " * 40), 0.9) for i in range(100)]
    parts = fit(BlockParts(stm=history, rag=found), 3000, say, count, shares)
    taken = section_tokens(parts, say, count)
    expected = shares.memory / shares.history
    assert 0.9 * expected < taken["rag"] / (taken["stm"] + taken["ltm"]) < 1.1 * expected


def test_what_one_leaves_the_other_uses() -> None:
    many = [message(i, "word " * 40) for i in range(100)]
    recalled = [(one, 0.9) for one in many]
    shared = fitted(BlockParts(stm=many, rag=recalled), 3000)
    assert len(fitted(BlockParts(stm=many), 3000).stm) > len(shared.stm)
    assert len(fitted(BlockParts(rag=recalled), 3000).rag) > 2 * len(shared.rag)


def test_the_best_that_was_recalled_enters_before_lesser_facts() -> None:
    facts = [fact(i, f"{i} is a fact of the greatest length that a fact may have " * 3) for i in range(40)]
    history = [message(i, "word " * 40) for i in range(100)]
    kept = fitted(BlockParts(facts=facts, stm=history, rag=[(message(500, "the best of all"), 0.9)]), 1500)
    assert kept.rag and kept.facts and len(kept.facts) < 40


def test_a_huge_message_is_shortened_in_its_middle_and_not_left_out() -> None:
    huge = message(1, "begin " + "xyz " * 100_000 + " end")
    kept = fitted(BlockParts(stm=[huge]), 2000).stm
    assert len(kept) == 1
    assert kept[0].content.startswith("begin ") and kept[0].content.endswith(" end")
    assert count(kept[0].content) > 400


@given(st.text(), st.integers(10, 100))
def test_shortened_text_fits(content: str, tokens: int) -> None:
    assert count(shorten(content * 9, tokens, count)) <= tokens


def test_a_megabyte_is_not_counted_to_be_cut() -> None:
    counted = 0

    def counting(content: str) -> int:
        nonlocal counted
        counted += len(content)
        return count(content)

    cut = shorten("привет мир " * 100_000, 500, counting)
    assert 450 <= count(cut) <= 500
    assert counted < 100_000


def test_a_block_names_the_tokens_of_its_sections() -> None:
    parts = BlockParts(facts=[fact(1, "Lives in Angarsk")], stm=[message(1, "hello")])
    made = assemble(parts, "where do I live?", Budget(4000), say)
    sections = dict(made.sections)
    assert list(sections) == ["system", "facts", "stm", "message"]
    assert sections["message"] == count("where do I live?")
    assert (
        abs(
            sections["facts"] + sections["stm"] - count(render(parts, say)) + count(render(BlockParts(), say))
        )
        <= 4
    )


def test_shares_add_up_to_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUDGET_MEMORY", "30")
    with pytest.raises(SettingError, match=r"BUDGET_MEMORY 30.*add up to 105, and take 100"):
        load_settings()
    monkeypatch.setenv("BUDGET_HISTORY", "40")
    assert load_settings().budget_history == 40
