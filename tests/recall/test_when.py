"""Questions that name a time, and questions that ask for one, through the whole of recall."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from keepsake.manager import MemoryManager
from keepsake.settings import Settings

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[MemoryManager]:
    async with MemoryManager(settings) as opened:
        yield opened


async def said(memory: MemoryManager, text: str, days_ago: float, user_id: int = 7) -> int:
    moment = NOW - timedelta(days=days_ago)
    return (await memory.save_message(user_id, "user", text, created_at=moment)).id


async def first(memory: MemoryManager, question: str) -> str:
    return (await memory.search_memory(7, question, now=NOW))[0][0].content


@pytest.mark.parametrize(
    "question",
    [
        "what did I cook yesterday?",
        "что я готовил вчера, what did I cook?",
        "hôm qua what did I cook?",
        "昨天 what did I cook?",
        "what did I cook on 17 November?",
    ],
)
async def test_what_was_said_then_comes_first(memory: MemoryManager, question: str) -> None:
    for day, dish in ((3, "borscht"), (1, "pilaf"), (0.1, "pancakes")):
        await said(memory, f"I did cook {dish}", day)
    assert await first(memory, question) == "I did cook pilaf"


async def test_what_shares_no_word_is_found_by_its_time(memory: MemoryManager) -> None:
    """So long ago, and with so much since, that no other route would bring it."""
    wanted = await said(memory, "the roof was mended", 250)
    for number in range(120):
        await said(memory, f"bought {number} apples for the happenings", 100 - number / 2)
    found = await memory.search_memory(7, "what happened in March?", 10, now=NOW)
    assert wanted in [message.id for message, _ in found]


async def test_a_question_that_asks_when_prefers_what_says_when(memory: MemoryManager) -> None:
    plain = await said(memory, "the dentist, the dentist again, I dread it", 5)
    dated = await said(memory, "dentist is on Friday at nine, so be it then", 6)
    await said(memory, "something else altogether", 4)

    async def order(question: str) -> list[int]:
        return [message.id for message, _ in await memory.search_memory(7, question, now=NOW)]

    when, what = await order("when is the dentist?"), await order("why the dentist?")
    assert when.index(dated) < when.index(plain)
    assert what.index(plain) < what.index(dated)


async def test_of_two_that_say_the_same_of_different_times_the_newer_is_first(memory: MemoryManager) -> None:
    await said(memory, "my wifi password hint is lantern", 40)
    await said(memory, "we talked about other things for a while", 30)
    newer = await said(memory, "my wifi password hint is kettle", 2)
    found = await memory.search_memory(7, "wifi password hint", now=NOW)
    assert found[0][0].id == newer


async def test_another_users_dates_change_nothing(memory: MemoryManager) -> None:
    for day in (1, 2, 40):
        await said(memory, f"I did cook soup number {day}", day)
    question = "what did I cook yesterday?"
    before = await memory.search_memory(7, question, now=NOW)
    for day in range(30):
        await said(memory, "I did cook soup and more soup", day, user_id=8)
    assert await memory.search_memory(7, question, now=NOW) == before
