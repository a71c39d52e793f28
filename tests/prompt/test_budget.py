"""The request fits: whole items, best first, and the new message and the newest memories before older ones."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from keepsake.locales import translate
from keepsake.models import Message
from keepsake.prompt.block import BlockParts, render
from keepsake.prompt.budget import block_tokens, fit, fit_message, shorten
from keepsake.prompt.tokens import estimate

say = partial(translate, "en")
WHEN = datetime(2026, 3, 11, tzinfo=UTC)
LANGUAGES = [
    "hello there, my friend",
    "живу в Ангарске",
    "tôi ăn tôm được không",
    "我住在北京",
    "def f(x):\n  return x",
    "👍🏽",
]
texts = st.builds(lambda piece, times: piece * times, st.sampled_from(LANGUAGES), st.integers(1, 400))


def message(message_id: int, content: str) -> Message:
    return Message(message_id, 7, "user", content, WHEN, 1)


messages = st.lists(texts, max_size=20).map(
    lambda contents: [message(i, text) for i, text in enumerate(contents)]
)


@given(messages, messages, messages, texts, st.integers(500, 8000))
def test_never_over_budget(
    stm: list[Message], ltm: list[Message], rag: list[Message], new: str, context_tokens: int
) -> None:
    room = block_tokens(context_tokens, new, estimate)
    parts = fit(BlockParts(stm=stm, ltm=ltm, rag=[(m, 0.5) for m in rag]), room, estimate)
    sent = estimate(render(parts, say)) if parts.stm or parts.ltm or parts.rag else 0
    assert sent <= room
    assert sent + estimate(fit_message(context_tokens, new, estimate)) <= context_tokens * 0.85 + 1


@given(messages)
def test_what_fits_stays_as_it_is(stm: list[Message]) -> None:
    parts = BlockParts(facts=[], stm=stm, ltm=[], rag=[])
    assert fit(parts, 10_000_000, estimate) == parts


def test_the_oldest_leaves_first() -> None:
    history = [message(i, "a sentence of some length, number " + str(i)) for i in range(100)]
    kept = fit(BlockParts(stm=history), 1000, estimate).stm
    assert 0 < len(kept) < 100
    assert list(kept) == history[-len(kept) :]


def test_a_huge_message_is_shortened_in_its_middle_and_not_left_out() -> None:
    huge = message(1, "begin " + "x" * 100_000 + " end")
    kept = fit(BlockParts(stm=[huge]), 2000, estimate).stm
    assert len(kept) == 1
    assert kept[0].content.startswith("begin ")
    assert kept[0].content.endswith(" end")


@given(st.text(), st.integers(10, 100))
def test_shortened_text_fits(text: str, tokens: int) -> None:
    assert estimate(shorten(text, tokens, estimate)) <= tokens
