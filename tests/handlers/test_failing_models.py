"""Every way in which a model fails: one clear line, what memory found, the message kept, and no storm of tries."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest

from keepsake.facts.keeper import MOST_LOOKS
from keepsake.llm.bounds import most_characters
from keepsake.locales import translate
from tests.handlers.talking import talking
from tests.model_server import ModelServer

KEY = "sk-very-secret-key"
TOLD, ASKED = "my cat is called Pixel", "who is Pixel"
TWICE = {"model_retries": 1}


@dataclass(frozen=True, slots=True)
class Case:
    """`does`: what the endpoint does; `line`: what the person is told; `sent`: requests for the question."""

    name: str
    does: dict[str, Any]
    line: str
    sent: int
    settings: dict[str, Any]


LATER, REFUSED, DECLINED = "model-down-later", "model-down-refused", "model-declined"
CASES = (
    Case("429", {"do": "status", "status": 429}, LATER, 2, TWICE),
    Case("429, soon", {"do": "status", "status": 429, "retry_after": 0.01}, LATER, 2, TWICE),
    Case("429, in an hour", {"do": "status", "status": 429, "retry_after": 3600}, LATER, 1, {}),
    Case("quota", {"do": "status", "status": 429, "message": "insufficient_quota"}, LATER, 1, {}),
    Case("503", {"do": "status", "status": 503}, LATER, 2, TWICE),
    Case("lost", {"do": "drop"}, LATER, 2, TWICE),
    Case("web page", {"do": "garbage"}, LATER, 2, TWICE),
    Case("deaf", {"do": "deaf"}, LATER, 1, {"model_timeout_seconds": 0.2}),
    Case("hangs", {"do": "hang", "pieces": 0}, LATER, 1, {"model_timeout_seconds": 0.2}),
    Case("wrong key", {"do": "status", "status": 401, "message": f"bad {KEY}"}, REFUSED, 1, {}),
    Case("wrong model", {"do": "status", "status": 404, "message": TOLD}, REFUSED, 1, {}),
    Case("empty", {"do": "empty"}, "model-said-nothing", 1, {}),
    Case("refusal", {"do": "refusal"}, DECLINED, 1, {}),
    Case("filter", {"do": "filtered", "pieces": 0}, DECLINED, 1, {}),
    Case("filter, 400", {"do": "status", "status": 400, "message": "content_filter"}, DECLINED, 1, {}),
)


@pytest.mark.parametrize(
    ("case", "language"),
    list(zip(CASES, cycle(["en", "ru"]), strict=False)),
    ids=[case.name for case in CASES],
)
async def test_a_question_that_no_model_answers(
    case: Case, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "keepsake")
    caplog.set_level(logging.DEBUG, "handlers")
    with ModelServer(key=KEY) as server:
        async with talking(server.url, openai_api_key=KEY, **case.settings) as talk:
            await talk.say(TOLD)
            server.requests.clear()
            server.script(*[case.does] * 5)
            (shown,) = await talk.say(ASKED, language=language)
            why, title, *found = shown.splitlines()
            assert why == translate(language, case.line)
            assert title == translate(language, "memory-has")
            assert any(TOLD in line for line in found)
            assert len(server.requests) == case.sent
            assert (await talk.said())[-1] == ("user", ASKED)
            ((error, answer_id),) = await talk.rows(
                "SELECT error, answer_id FROM events WHERE question_id = 3"
            )
            assert error and answer_id is None
    for secret in (KEY, TOLD):
        assert secret not in caplog.text
    assert KEY not in shown
    assert caplog.text.count("no answer:") == 1


@pytest.mark.parametrize(
    ("do", "line"),
    [("ended", "model-cut-short"), ("filtered", "model-declined-midway"), ("error", "model-cut-short")],
)
async def test_an_answer_that_ends_in_the_middle_is_kept_as_far_as_it_came(do: str, line: str) -> None:
    with ModelServer() as server, ModelServer() as second:
        async with talking(server.url, fallback_base_url=second.url) as talk:
            server.script({"do": do, "text": "one two three four"})
            assert await talk.say(ASKED) == ["one two ", translate("en", line)]
            assert await talk.said() == [("user", ASKED), ("assistant", "one two ")]
            assert await talk.say("again") == ["You wrote: again"]
        assert len(server.requests) == 2
        assert second.requests == []


async def test_an_answer_without_end_is_cut_short_and_kept_so() -> None:
    with ModelServer() as server:
        async with talking(server.url, answer_tokens=16) as talk:
            server.script({"do": "endless", "text": "and so on " * 100})
            shown = await talk.say(ASKED)
            whole = ("and so on " * 10_000)[: most_characters(16)]
            assert shown == [whole, translate("en", "model-cut-short")]
            assert await talk.said() == [("user", ASKED), ("assistant", whole)]
            assert await talk.say("again") == ["You wrote: again"]


async def test_a_dead_endpoint_is_left_alone_for_a_while_and_found_out_by_one_request() -> None:
    with ModelServer() as server:
        async with talking(server.url, model_retries=0, circuit_failures=2, circuit_seconds=0.4) as talk:
            server.script(*[{"do": "status", "status": 503}] * 3)
            for _ in range(6):
                (shown,) = await talk.say(ASKED)
                assert shown.startswith(translate("en", LATER))
            assert len(server.requests) == 2
            breaker = talk.app.model.breaker  # type: ignore[union-attr]
            await asyncio.sleep(breaker.circuit.waits(time.monotonic()))
            assert (await talk.say(ASKED))[0].startswith(translate("en", LATER))
            assert (await talk.say(ASKED))[0].startswith(translate("en", LATER))
            assert len(server.requests) == 3
            assert len(await talk.said()) == 8


REFUSED_FORM = {"do": "refusal", "for": "structured"}


@pytest.mark.parametrize("bad", [[REFUSED_FORM], [{"do": "text", "text": "no", "for": "structured"}] * 2])
async def test_messages_that_a_model_always_refuses_are_passed_over_after_some_looks(
    bad: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    with ModelServer() as server:
        async with talking(server.url, fact_extraction_every=1) as talk:
            storage = (await talk.memory.engine()).storage
            unread = []
            for number in range(MOST_LOOKS):
                server.script(*bad)
                await talk.memory.save_message(7, "user", f"something dreadful {number}")
                await talk.memory.flush()
                unread.append(await storage.unread_user_messages(7))
            assert unread == [*range(1, MOST_LOOKS), 0]
            await talk.memory.save_message(7, "user", "I live in Angarsk")
            await talk.memory.flush()
            assert [fact.content for fact in await talk.memory.get_facts(7)] == ["Lives in Angarsk"]
    assert f"{MOST_LOOKS} messages are passed over" in caplog.text
    assert "dreadful" not in caplog.text


async def test_a_dead_endpoint_makes_nothing_be_passed_over() -> None:
    with ModelServer() as server:
        settings: dict[str, Any] = {"fact_extraction_every": 1, "model_retries": 0, "circuit_failures": 1000}
        async with talking(server.url, **settings) as talk:
            server.script(*[REFUSED_FORM] * 2, *[{"do": "status", "status": 503, "for": "structured"}] * 5)
            for text in ("I live in Angarsk", "hello there", *["so many words"] * 5):
                await talk.memory.save_message(7, "user", text)
                await talk.memory.flush()
                talk.memory.catch_up()
                await talk.memory.flush()
            await talk.memory.save_message(7, "user", "are you back?")
            await talk.memory.flush()
            assert server.waiting == 0
            assert [fact.content for fact in await talk.memory.get_facts(7)] == ["Lives in Angarsk"]


async def test_facts_wait_for_the_model_and_are_made_up_for_when_it_is_back() -> None:
    with ModelServer() as server:
        patience: dict[str, Any] = {"model_retries": 0, "circuit_failures": 3, "circuit_seconds": 0.4}
        async with talking(server.url, fact_extraction_every=2, **patience) as talk:
            server.script(*[{"do": "status", "status": 503}] * 3)
            await talk.say("I live in Angarsk")
            await talk.say("I work as a cook")
            while server.waiting:  # extraction fails as the third
                await talk.memory.flush()
            await talk.memory.flush()
            assert await talk.memory.get_facts(7) == []
            ((put_off,),) = await talk.rows("SELECT run_after > created_at FROM jobs WHERE kind = 'extract'")
            assert put_off
            breaker = talk.app.model.breaker  # type: ignore[union-attr]
            await asyncio.sleep(breaker.circuit.waits(time.monotonic()))
            assert await talk.say("ping") == ["You wrote: ping"]
            await talk.app.finish()
            assert [fact.content for fact in await talk.memory.get_facts(7)] == [
                "Lives in Angarsk",
                "Works as cook",
            ]
