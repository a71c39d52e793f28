"""Summaries beside all else: who pays, what they wait for, where they stand, and what goes with a person."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

from keepsake.accounts import day_after
from keepsake.facts.sensitive import MASK
from keepsake.locales import translate
from keepsake.models import Spent
from keepsake.store import usage, users
from tests.handlers.talking import Talk, talking
from tests.handlers.test_tokens import EVENING, Calendar
from tests.model_server import MODEL, ModelServer, listed_values

SMALL: dict[str, Any] = {
    "stm_size": 2,
    "ltm_size": 2,
    "summary_messages": 4,
    "fact_extraction_every": 1000,
    "long_message": 100_000,
    "embedding_model": "none",
}
OTHER = "other-model"
TOO_LONG = {"do": "status", "status": 400, "code": "context_length_exceeded"}


async def talk_for_long(talk: Talk, count: int = 8) -> None:
    for number in range(count):
        await talk.memory.save_message(7, "user", f"parcel {number} weighs {1000 + number} grams")
    await talk.memory.flush()


async def summed(talk: Talk) -> list[Any]:
    return [row[0] for row in await talk.rows("SELECT content FROM summaries ORDER BY first_id")]


async def spend(talk: Talk, when: datetime, tokens: int) -> None:
    database = (await talk.memory.engine()).storage.database
    await database.write(users.ensure, 7, 0)
    await database.write(usage.add, 7, when.date(), Spent(OTHER, tokens, 0))


async def test_a_summary_is_charged_to_whom_it_is_about() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk_for_long(talk)
            (asked,) = server.summaries()
            words = sum(len(turn["content"].split()) for turn in asked["messages"])
            ((user, model, requests, prompt),) = await talk.rows(
                "SELECT user_id, model, requests, prompt_tokens FROM usage"
            )
            assert (user, model, requests, prompt) == (7, MODEL, 1, words)
            assert await talk.rows("SELECT model FROM summaries") == [(MODEL,)]


async def test_what_cannot_be_stored_of_a_summary_or_a_fact_is_replaced() -> None:
    broken = " \ud83d \0 "
    fact = {"content": f"Owns a cat{broken}", "quote": "I own a cat", "subject": broken, "topic": broken}
    with ModelServer(summary=lambda body: listed_values(body) + broken) as server:
        async with talking(server.url, **SMALL | {"fact_extraction_every": 8, "ltm_size": 1}) as talk:
            server.script({"do": "json", "value": {"facts": [fact]}, "for": "structured"})
            await talk.memory.save_message(7, "user", "I own a cat")
            await talk_for_long(talk)
            assert (await summed(talk))[0].endswith("\ufffd \ufffd")
            assert await talk.rows("SELECT content FROM facts") == [("Owns a cat \ufffd \ufffd",)]
            assert await talk.rows("SELECT kind FROM jobs WHERE attempts > 0") == []


async def test_a_summary_waits_for_the_next_days_tokens() -> None:
    clock = Calendar()
    with ModelServer() as server:
        async with talking(server.url, clock=clock, daily_tokens=50, **SMALL) as talk:
            await spend(talk, EVENING, 50)
            await talk_for_long(talk)
            assert (server.requests, await summed(talk)) == ([], [None])
            clock.now = day_after(EVENING) + timedelta(minutes=1)
            await talk.memory.flush()
            assert len(server.summaries()) == 1
            assert "1003" in (await summed(talk))[0]


async def test_a_summary_waits_while_the_circuit_is_open_and_is_made_when_the_model_is_back() -> None:
    down = {"do": "status", "status": 503}
    settings = SMALL | {"circuit_failures": 1, "circuit_seconds": 0.2, "model_retries": 0}
    with ModelServer() as server:
        async with talking(server.url, **settings) as talk:
            server.script(down)
            await talk.say("are you there?")
            await talk_for_long(talk)
            assert (server.summaries(), await summed(talk)) == ([], [None])
            await asyncio.sleep(0.25)
            await talk.say("and now?")
            await talk.memory.flush()
            assert len(server.summaries()) == len(await summed(talk))
            assert all(await summed(talk))


async def test_the_fallback_makes_summaries_too_and_is_named() -> None:
    with ModelServer() as first, ModelServer(models=[OTHER]) as second:
        first.script(*[{"do": "status", "status": 503, "for": "summary"}] * 3)
        there = {"fallback_base_url": second.url, "fallback_model": OTHER, "model_retries": 0}
        async with talking(first.url, **(SMALL | there)) as talk:
            await talk_for_long(talk)
            assert await talk.rows("SELECT model FROM summaries") == [(OTHER,)]
            assert await talk.rows("SELECT DISTINCT model FROM usage") == [(OTHER,)]


async def test_what_is_learned_is_kept_by_the_model_that_answered() -> None:
    with ModelServer(models=[MODEL]) as first, ModelServer(models=[OTHER]) as second:
        there = {"fallback_base_url": second.url, "fallback_model": OTHER, "model_retries": 0}
        async with talking(first.url, **(SMALL | there)) as talk:
            await talk_for_long(talk, 30)
            first.script({"do": "status", "status": 503})
            second.script(TOO_LONG)
            (answer,) = await talk.say("what does parcel 2 weigh?")
            assert translate("en", "model-down-later") not in answer
            limits = await talk.rows("SELECT name, context_limit IS NOT NULL, answers FROM models")
            assert limits == [(OTHER, 1, 1)]
            assert await talk.rows("SELECT model FROM events") == [(OTHER,)]
            long, short = (len(str(body["messages"])) for body in second.chats())
            assert short < long
            charged = await talk.rows("SELECT model, requests FROM usage WHERE model = ?", OTHER)
            assert charged == [(OTHER, 1)]  # what was refused took nothing


async def test_summaries_stand_behind_the_profile_and_before_what_changes() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk.say("/remember I live in Angarsk")
            await talk_for_long(talk)
            first, second = [
                (await talk.memory.recall(7, query)).block for query in ("parcel 1?", "parcel 2?")
            ]
    marks = [translate("en", f"block-{name}") for name in ("profile", "summary", "stm")]
    assert [first.index(mark) for mark in marks] == sorted(first.index(mark) for mark in marks)
    start = first.index(marks[2])
    assert "1003" in first[:start]
    assert first[:start] == second[:start]


async def test_a_card_number_is_no_value_of_a_summary() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk.memory.save_message(7, "user", "my card is 4111 1111 1111 1111 and 12 cats")
            await talk_for_long(talk)
            (content,) = await summed(talk)
            asked = str(server.summaries()[0]["messages"])
    assert "4111" not in content + asked
    assert MASK in asked
    assert "12" in content


async def test_why_and_context_go_on_beside_summaries() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk_for_long(talk)
            await talk.say("what does parcel 2 weigh?")
            (reasons,) = await talk.say("/why")
            assert "parcel 2 weighs 1002 grams" in reasons
            block, tokens = await talk.say("/context parcel 2")
            assert translate("en", "block-summary") in block
            assert translate("en", "section-summaries") in tokens


async def test_whoever_is_erased_leaves_no_summary_and_no_work_on_one() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk_for_long(talk)
            assert len(await summed(talk)) == 1
            receipt = await talk.memory.begin_erasure(7, {})
            await talk.memory.flush()
            assert receipt is not None
            assert await summed(talk) == []
            assert await talk.rows("SELECT kind FROM jobs WHERE kind NOT IN ('erase', 'dream_check')") == []
            assert len(server.summaries()) == 1
