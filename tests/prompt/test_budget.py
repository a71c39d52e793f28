"""The request fits: whole items, best first, and the new message and the newest memories before older ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.chat import answer_turns
from keepsake.locales import translate
from keepsake.models import CATEGORIES, Fact, Message
from keepsake.prompt.block import BlockParts, render
from keepsake.prompt.budget import fit, shorten
from keepsake.prompt.request import block_tokens, fit_message, system_text
from keepsake.prompt.tokens import MOST_CHARACTERS, estimate
from keepsake.settings import LANGUAGES

say = partial(translate, "en")
WHEN = datetime(2026, 3, 11, tzinfo=UTC)
PIECES = [
    "hello there, my friend ",
    "живу в Ангарске ",
    "tôi ăn tôm được không ",
    "我住在北京",
    "def f(x):\n  return x\n",
    "👍🏽",
    "\n",
    "\r\n\u2028",
    "    ",
    "x",
]
texts = st.builds(lambda piece, times: piece * times, st.sampled_from(PIECES), st.integers(1, 3000))
senders = st.none() | st.sampled_from(["Anna", "Имя " * 20, "S" * 100_000, "👍🏽" * 500, "a\nb"])
sizes = st.integers(500, 8000)
days = st.integers(1, 28).map(lambda day: datetime(2026, 9, day, tzinfo=UTC))


def message(message_id: int, content: str, sender: str | None = None) -> Message:
    return Message(message_id, 7, "user", content, WHEN, 1, sender)


def fact(fact_id: int, content: str) -> Fact:
    category = CATEGORIES[fact_id % len(CATEGORIES)]
    return Fact(
        fact_id, 7, content, category, "fact", "active", "extracted", 0.8, 0.9, False, 0, WHEN, WHEN, WHEN
    )


def numbered(most: int) -> st.SearchStrategy[list[Message]]:
    contents = st.lists(st.tuples(texts, senders), max_size=most)
    return contents.map(lambda drawn: [message(i, text, sender) for i, (text, sender) in enumerate(drawn)])


@st.composite
def memories(draw: st.DrawFn) -> BlockParts:
    facts = draw(st.lists(texts.map(lambda text: text[:300]), max_size=8))
    return BlockParts(
        facts=[fact(i, text) for i, text in enumerate(facts)],
        topics=draw(st.lists(st.tuples(texts, texts), max_size=2)),
        summaries=[(WHEN, text) for text in draw(st.lists(texts, max_size=2))],
        stm=draw(numbered(8)),
        ltm=draw(numbered(8)),
        rag=[(found, 0.5) for found in draw(numbered(5))],
    )


@given(memories(), texts, sizes, days, st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_the_request_is_never_over_and_the_persona_whole(
    parts: BlockParts, new: str, context_tokens: int, day: datetime, of_block: str, of_chat: str
) -> None:
    words = partial(translate, of_block)
    block = render(fit(parts, block_tokens(context_tokens, new), words), words)
    question = replace(message(99, new), created_at=day)
    system, asked = answer_turns(block, question, of_chat, context_tokens)
    assert estimate(system.content) + estimate(asked.content) <= context_tokens
    assert system.content.startswith(system_text(day, of_chat) + "\n\n")
    assert system.content.endswith(block)
    if estimate(new) <= context_tokens * 0.15:
        assert asked.content == new
    elif asked.content != new:
        head, tail = asked.content.split("\n[…]\n")
        assert new.startswith(head)
        assert new.endswith(tail)
        assert estimate(asked.content) >= context_tokens * 0.15


@pytest.mark.parametrize("context_tokens", [500, 700, 4000])
def test_a_huge_message_is_cut_in_the_request_and_leaves_room_for_memory(context_tokens: int) -> None:
    huge = message(1, "begin " + "hello " * 16_000 + "end")
    _, asked = answer_turns("", huge, "en", context_tokens)
    assert asked.content.startswith("begin ")
    assert asked.content.endswith("end")
    assert "[…]" in asked.content
    left = block_tokens(context_tokens, huge.content)
    assert fit(BlockParts(facts=[fact(1, "Lives in Angarsk")]), left, say).facts


def test_a_message_that_fits_alone_is_whole_and_memory_makes_room() -> None:
    long = message(1, "a word and more " * 600)
    assert 2000 < estimate(long.content) < 3400
    _, asked = answer_turns("", long, "en", 4000)
    assert asked.content == long.content
    assert block_tokens(4000, long.content) > 0


@given(memories())
def test_what_fits_stays_as_it_is(parts: BlockParts) -> None:
    assert fit(parts, 10_000_000, say) == parts


def test_the_oldest_leaves_first() -> None:
    history = [message(i, "a sentence of some length, number " + str(i)) for i in range(100)]
    kept = fit(BlockParts(stm=history), 1000, say).stm
    assert 0 < len(kept) < 100
    assert list(kept) == history[-len(kept) :]


def test_the_least_important_facts_leave_first() -> None:
    facts = [fact(i, "a fact of some length, number " + str(i)) for i in (9, 3, 7, 1)]
    kept = fit(BlockParts(facts=facts), 150, say).facts
    assert 0 < len(kept) < 4
    assert list(kept) == facts[: len(kept)]


def test_memory_keeps_its_share_beside_a_long_history() -> None:
    history = [message(i, "word " * 40) for i in range(100)]
    found = [(message(1000 + i, "word " * 40), 0.9) for i in range(100)]
    parts = fit(BlockParts(stm=history, rag=found), 3000, say)
    assert 2 * len(parts.rag) > len(parts.stm) * 25 / 45 > len(parts.rag) * 0.5


def test_what_one_leaves_the_other_uses() -> None:
    many = [message(i, "word " * 40) for i in range(100)]
    shared = fit(BlockParts(stm=many, rag=[(m, 0.9) for m in many]), 3000, say)
    alone = fit(BlockParts(stm=many), 3000, say), fit(BlockParts(rag=[(m, 0.9) for m in many]), 3000, say)
    assert len(alone[0].stm) > len(shared.stm)
    assert len(alone[1].rag) > 2 * len(shared.rag)


def test_a_huge_message_is_shortened_in_its_middle_and_not_left_out() -> None:
    huge = message(1, "begin " + "x" * 100_000 + " end")
    kept = fit(BlockParts(stm=[huge]), 2000, say).stm
    assert len(kept) == 1
    assert kept[0].content.startswith("begin ")
    assert kept[0].content.endswith(" end")


@given(st.text(), st.integers(10, 100))
def test_shortened_text_fits(text: str, tokens: int) -> None:
    assert estimate(shorten(text, tokens)) <= tokens


@given(st.text(max_size=50), st.integers(1, 100))
def test_no_token_has_more_characters_than_the_most(text: str, times: int) -> None:
    assert len(text * times) <= estimate(text * times) * MOST_CHARACTERS


def test_a_megabyte_is_not_counted_to_be_cut() -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return estimate(text)

    shorten("привет мир " * 100_000, 500, count)
    assert counted < 100_000


def test_the_message_that_fits_is_whole() -> None:
    assert fit_message(500, "hello") == "hello"
