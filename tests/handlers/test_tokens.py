"""What a person's tokens are: counted a day, shown, limited, erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handlers import receive
from keepsake.accounts import day_after
from keepsake.assistant import AnswerStopped
from keepsake.locales import translate
from keepsake.models import Spent
from keepsake.prompt.tokens import estimate
from keepsake.store import usage, users
from tests.handlers.fakes import RecordingChat
from tests.handlers.talking import Talk, talking
from tests.model_server import MODEL, ModelServer

EVENING = datetime(2026, 11, 30, 21, tzinfo=UTC)
OTHERS = "other-model"


class Calendar:
    """A clock that is set by hand."""

    def __init__(self, now: datetime = EVENING) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def tokens_of(server: ModelServer, answers: int) -> int:
    """What the server counted for its requests, whose answers have so many words."""
    asked = sum(len(turn["content"].split()) for body in server.requests for turn in body["messages"])
    return asked + answers


async def stats(talk: Talk, user: int = 7) -> tuple[Any, ...]:
    found = await talk.memory.get_memory_stats(user)
    return tuple(found[f"tokens_{what}"] for what in ("today", "this_month", "estimated"))


async def test_answers_and_extraction_are_counted_together() -> None:
    with ModelServer(answer=lambda _: "one two three", facts=lambda _: {"facts": []}) as server:
        async with talking(server.url, fact_extraction_every=1) as talk:
            await talk.say("I live in Angarsk")
            await talk.app.finish()
            assert len(server.chats()) == len(server.extractions()) == 1
            assert await stats(talk) == (
                tokens_of(server, 5),
                tokens_of(server, 5),
                0,
            )  # {"facts": []}: two words
            assert await stats(talk, 8) == (0, 0, 0)
            assert await talk.rows("SELECT model, requests FROM usage") == [(MODEL, 2)]


async def test_a_month_is_the_days_since_its_first() -> None:
    clock = Calendar()
    with ModelServer(answer=lambda _: "ok") as server:
        async with talking(server.url, clock=clock) as talk:
            for day, used in ((29, 100), (30, 10), (31, 1)):
                await charge(talk, datetime(2026, 10, day), used)  # noqa: DTZ001
            await charge(talk, datetime(2026, 11, 1), 1000, estimated=400)  # noqa: DTZ001
            await charge(talk, datetime(2026, 11, 30), 20)  # noqa: DTZ001
            assert await stats(talk) == (20, 1020, 400)
            await charge(talk, EVENING, 5, user=8)
            assert (await talk.memory.get_totals())["tokens_today"] == 25
            assert (await talk.memory.get_totals())["tokens_this_month"] == 1025
            (shown,) = await talk.say("/stats")
            assert "language model: 20 tokens today, 1,020 this month (UTC)" in shown
            assert "400 are an estimate" in shown
            clock.now += timedelta(hours=3)
            assert await stats(talk) == (0, 0, 0)


async def charge(talk: Talk, when: datetime, used: int, *, user: int = 7, estimated: int = 0) -> None:
    database = (await talk.memory.engine()).storage.database
    await database.write(users.ensure, user, 0)
    await database.write(usage.add, user, when.date(), Spent(OTHERS, used, 0, estimated))


async def test_the_end_of_the_days_tokens() -> None:
    clock, language = Calendar(), "ru"
    with ModelServer(answer=lambda _: "noted") as server:
        async with talking(server.url, clock=clock, daily_tokens=100, fact_extraction_every=2) as talk:
            assert await talk.say("I live in Angarsk") == ["noted"]  # and goes beyond them
            await talk.app.finish()
            (shown,) = await talk.say("what about Angarsk", language=language)
            until = "2026-12-01 00:00 UTC"
            why, title, found = shown.splitlines()
            assert why == translate(language, "tokens-used-up", count=100, until=until)
            assert until in why
            assert (title, found[-17:]) == (translate(language, "memory-has"), "I live in Angarsk")
            await talk.memory.flush()
            assert len(server.requests) == 1
            assert (await talk.said())[-1] == ("user", "what about Angarsk")
            ((run_after,),) = await talk.rows("SELECT run_after FROM jobs WHERE kind = 'extract'")
            midnight = day_after(EVENING)
            assert run_after >= midnight.timestamp() * 1_000_000
            assert await talk.say("hi", user=8) == ["noted"]

            clock.now = midnight + timedelta(minutes=1)
            await talk.memory.flush()
            assert [fact.content for fact in await talk.memory.get_facts(7)] == ["Lives in Angarsk"]


async def test_a_higher_limit_after_a_restart_counts_at_once() -> None:
    clock = Calendar()
    with ModelServer(answer=lambda _: "noted") as server:
        async with talking(server.url, clock=clock, daily_tokens=1, fact_extraction_every=1) as talk:
            await charge(talk, EVENING, 1)
            await talk.say("I live in Angarsk")
            await talk.memory.flush()
            assert server.requests == []
        async with talking(server.url, clock=clock, fact_extraction_every=1) as talk:
            await talk.memory.flush()
            assert [fact.content for fact in await talk.memory.get_facts(7)] == ["Lives in Angarsk"]
        assert len(server.extractions()) == 1


async def test_an_erased_person_leaves_no_count_and_gets_none_afterwards() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            await talk.say("hello")
            engine = await talk.memory.engine()
            account = engine.account(7)
            await engine.storage.database.write(lambda db: db.execute("DELETE FROM usage"))
            await account.charge(Spent(MODEL, 1, 1))
            assert len(await talk.rows("SELECT * FROM usage WHERE user_id = 7")) == 1
            await engine.account(99).charge(Spent(MODEL, 1, 1))
            assert await talk.rows("SELECT * FROM usage WHERE user_id = 99") == []


async def test_a_stopped_answer_costs_what_came_of_it() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            server.script({"do": "hang", "text": "one two three four", "pieces": 2})
            chat = Impatient(7)
            await receive(talk.app, chat, "hello")
            await talk.app.tasks.wait()
            assert chat.shown == ["one two "]
            prompt = sum(estimate(turn["content"]) for turn in server.requests[0]["messages"])
            used = prompt + estimate("one two ")
            assert await stats(talk) == (used, used, used)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10**9, "completion_tokens": 10**9},
        {"prompt_tokens": 10**30, "completion_tokens": 2**63},
        {"prompt_tokens": -5, "completion_tokens": -1},
        {"prompt_tokens": "12", "completion_tokens": True},
        {"prompt_tokens": 1.5, "completion_tokens": [3]},
        "many",
        [],
    ],
)
async def test_an_absurd_count_of_an_endpoint_is_not_believed(usage: Any) -> None:
    with ModelServer() as server:
        async with talking(server.url, daily_tokens=100_000, fact_extraction_every=1000) as talk:
            server.script({"do": "text", "text": "one two", "usage": usage})
            await talk.say("hello")
            prompt = sum(estimate(turn["content"]) for turn in server.requests[0]["messages"])
            used = prompt + estimate("one two")
            assert await stats(talk) == (used, used, used)
            assert await talk.rows("SELECT prompt_tokens, completion_tokens FROM events") == [(None, None)]
            assert await talk.rows("SELECT factor FROM models WHERE factor > 1") == []
            assert await talk.say("again") == ["You wrote: again"]


async def test_what_a_model_thought_is_believed_as_far_as_it_was_let() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            usage = {"prompt_tokens": 300, "completion_tokens": 590}
            server.script({"do": "text", "text": "yes", "usage": usage})
            await talk.say("hello")
            assert await stats(talk) == (890, 890, 0)


class Impatient(RecordingChat):
    """Stops an answer after its second piece, as /cancel does."""

    async def stream(self, pieces: AsyncIterator[str]) -> None:
        showing = asyncio.create_task(super().stream(self._until_enough(pieces)))
        self._showing = showing
        with suppress(asyncio.CancelledError):
            await showing
        raise AnswerStopped

    async def _until_enough(self, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        count = 0
        async for piece in pieces:
            yield piece
            count += 1
            if count == 2:
                self._showing.cancel()


async def test_who_answered_stands_in_the_event_and_in_the_facts() -> None:
    with ModelServer() as server, ModelServer(models=[OTHERS]) as second:
        chosen: dict[str, Any] = {
            "fallback_base_url": second.url,
            "fallback_model": OTHERS,
            "model_retries": 0,
        }
        async with talking(server.url, fact_extraction_every=2, **chosen) as talk:
            await talk.say("I live in Angarsk")
            server.script(*[{"do": "status", "status": 503}] * 2)
            await talk.say("I work as a cook")
            await talk.app.finish()
            assert await talk.rows("SELECT model, error FROM events ORDER BY id") == [
                (MODEL, None),
                (OTHERS, None),
            ]
            assert {fact.model for fact in await talk.memory.get_facts(7)} == {OTHERS}
            assert {row[0] for row in await talk.rows("SELECT model FROM usage")} == {MODEL, OTHERS}
