"""A second endpoint where the first is down, and what every request is counted as."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from keepsake.errors import (
    ContextTooLong,
    ModelDeclined,
    ModelError,
    ModelUnavailable,
    SettingError,
    TokensUsedUp,
)
from keepsake.llm.account import on_account
from keepsake.llm.client import Answer, ChatModel, Turn
from keepsake.llm.factory import open_model
from keepsake.models import Spent
from keepsake.prompt.tokens import estimate
from keepsake.settings import load_settings
from tests.model_server import MODEL, ModelServer

TURNS = [Turn("system", "You remember. The cat is called Pixel."), Turn("user", "How is my cat called?")]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
OTHER = "other-model"
DOWN = {"do": "status", "status": 503}


@pytest.fixture
def first() -> Iterator[ModelServer]:
    with ModelServer(key="first-key") as server:
        yield server


@pytest.fixture
def second() -> Iterator[ModelServer]:
    with ModelServer(key="second-key", models=[OTHER]) as server:
        yield server


@asynccontextmanager
async def both(first: str, second: str, **values: Any) -> AsyncIterator[ChatModel]:
    chosen: dict[str, Any] = {
        "openai_base_url": first,
        "openai_api_key": "first-key",
        "openai_model": MODEL,
        "fallback_base_url": second,
        "fallback_api_key": "second-key",
        "fallback_model": OTHER,
        "model_retries": 0,
        "model_timeout_seconds": 0.25,
    }
    model = open_model(load_settings(_env_file=None, **(chosen | values)))
    assert model is not None
    try:
        yield model
    finally:
        await model.close()


async def whole(answer: Answer) -> str:
    return "".join([piece async for piece in answer])


@pytest.mark.parametrize(
    "does",
    [DOWN, {"do": "status", "status": 429}, {"do": "drop"}, {"do": "deaf"}, {"do": "hang", "pieces": 0}],
    ids=lambda does: str(does.get("status", does["do"])),
)
async def test_the_second_answers_where_the_first_is_down(
    first: ModelServer, second: ModelServer, does: dict[str, Any]
) -> None:
    first.script(does, does)
    second.script({"do": "text", "text": "He is Pixel."}, {"do": "json", "value": {"n": 3}})
    async with both(first.url, second.url) as model:
        answer = model.stream(TURNS)
        assert await whole(answer) == "He is Pixel."
        assert (answer.model, model.name) == (OTHER, MODEL)
        formed = await model.formed(TURNS, SCHEMA, name="n", parse=lambda found: found["n"])
        assert (formed.value, formed.model) == (3, OTHER)
        assert await whole(model.stream(TURNS))
    assert len(second.requests) == 2
    assert len(first.requests) == 3


async def test_nobody_listens_at_the_first_and_its_circuit_opens(second: ModelServer) -> None:
    with ModelServer() as gone:
        url = gone.url
    async with both(url, second.url, circuit_failures=1) as model:
        for _ in range(3):
            assert await whole(model.stream(TURNS))
        assert model.breaker.is_open
    assert len(second.requests) == 3


@pytest.mark.parametrize(
    ("does", "error"),
    [
        ({"do": "status", "status": 401}, ModelUnavailable),
        ({"do": "status", "status": 404}, ModelUnavailable),
        ({"do": "status", "status": 400, "message": "context_length_exceeded"}, ModelUnavailable),
        ({"do": "refusal"}, ModelDeclined),
        ({"do": "empty"}, ModelError),
        ({"do": "broken", "text": "one two three four"}, ModelUnavailable),
    ],
    ids=lambda value: str(value.get("status", value["do"])) if isinstance(value, dict) else "",
)
async def test_the_second_is_not_asked_for_what_it_would_not_mend(
    first: ModelServer, second: ModelServer, does: dict[str, Any], error: type[Exception]
) -> None:
    first.script(does)
    async with both(first.url, second.url) as model:
        with pytest.raises(error):
            await whole(model.stream(TURNS))
    assert second.requests == []


async def test_a_refusal_of_the_form_is_not_asked_for_again(first: ModelServer, second: ModelServer) -> None:
    first.script({"do": "refusal"})
    async with both(first.url, second.url) as model:
        with pytest.raises(ModelDeclined):
            await model.formed(TURNS, SCHEMA, name="n", parse=dict)
    assert (len(first.requests), len(second.requests)) == (1, 0)


TOO_LONG = {"do": "status", "status": 400, "code": "context_length_exceeded"}


class Shortening:
    """Makes a shorter request after each refusal, and keeps who asked for one."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    async def __call__(self, model: str, refusal: ContextTooLong | None) -> Sequence[Turn]:
        assert refusal is None or refusal.model == model
        self.asked.append((model, refusal is not None))
        return [Turn("user", f"shorter {len(self.asked)}")]


def last_turns(server: ModelServer) -> list[str]:
    return [body["messages"][-1]["content"] for body in server.requests]


async def test_a_request_that_is_too_long_goes_shorter_to_the_same_endpoint(
    first: ModelServer, second: ModelServer
) -> None:
    purse, shorter = Purse(), Shortening()
    first.script(TOO_LONG, {"do": "text", "text": "one two"})
    async with both(first.url, second.url, circuit_failures=1) as model:
        with on_account(purse):
            answer = model.stream(TURNS, remake=shorter)
            assert await whole(answer) == "one two"
        assert not model.breaker.is_open
        assert model.breaker.circuit.failures == 0
    assert last_turns(first) == ["How is my cat called?", "shorter 1"]
    assert second.requests == []
    assert (answer.model, shorter.asked) == (MODEL, [(MODEL, True)])
    assert purse.spent == [Spent(MODEL, 2, 2)]


async def test_what_is_too_long_twice_goes_to_the_second_which_may_refuse_it_once(
    first: ModelServer, second: ModelServer
) -> None:
    shorter = Shortening()
    first.script(TOO_LONG, TOO_LONG)
    second.script(TOO_LONG)
    async with both(first.url, second.url, circuit_failures=1) as model:
        answer = model.stream(TURNS, remake=shorter)
        assert await whole(answer)
        assert not model.breaker.is_open
    assert (last_turns(first)[1], last_turns(second)) == ("shorter 1", ["shorter 2", "shorter 3"])
    assert shorter.asked == [(MODEL, True), (OTHER, False), (OTHER, True)]
    assert answer.model == OTHER


async def test_a_form_that_is_too_long_names_whose_room_is_too_small(
    first: ModelServer, second: ModelServer
) -> None:
    async with both(first.url, second.url) as model:
        assert model.names == (MODEL, OTHER)
        first.script(TOO_LONG, DOWN)
        second.script(TOO_LONG)
        for name in (MODEL, OTHER):
            with pytest.raises(ContextTooLong) as refusal:
                await model.formed(TURNS, SCHEMA, name="n", parse=dict)
            assert refusal.value.model == name
    assert len(second.requests) == 1


async def test_where_both_are_down_the_first_says_why(first: ModelServer, second: ModelServer) -> None:
    first.script(DOWN)
    async with both(first.url, second.url, fallback_api_key="wrong") as model:
        with pytest.raises(ModelUnavailable, match="503") as failure:
            await whole(model.stream(TURNS))
    assert failure.value.retry


async def test_an_error_of_the_second_names_its_settings(first: ModelServer, second: ModelServer) -> None:
    first.script(DOWN)
    async with both(first.url, second.url, fallback_api_key="wrong") as model:
        fallback = model._fallback
        assert fallback is not None
        with pytest.raises(ModelUnavailable, match="FALLBACK_API_KEY"):
            await whole(fallback.stream(TURNS))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"fallback_base_url": "http://127.0.0.1:9/v1"}, "OPENAI_BASE_URL"),
        ({"openai_base_url": "http://127.0.0.1:9/v1", "fallback_model": "m"}, "FALLBACK_BASE_URL"),
    ],
)
def test_half_a_fallback_is_no_setting(values: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        open_model(load_settings(_env_file=None, **values))


async def test_many_at_once_do_not_become_a_storm(first: ModelServer) -> None:
    first.script(*[DOWN] * 100)
    people = 12
    async with both(
        first.url, first.url, fallback_base_url=None, fallback_model=None, model_retries=5
    ) as model:

        async def ask() -> None:
            with suppress(ModelUnavailable):
                await whole(model.stream(TURNS))

        await asyncio.gather(*(ask() for _ in range(people)))
        # Those that are on their way when it opens are one each.
        assert len(first.requests) == people
        await ask()
        assert len(first.requests) == people


class Purse:
    def __init__(self, *, empty: bool = False) -> None:
        self.empty = empty
        self.spent: list[Spent] = []

    async def check(self) -> None:
        if self.empty:
            raise TokensUsedUp(limit=10, until=NEVER, seconds=60)

    async def charge(self, spent: Spent) -> None:
        self.spent.append(spent)


NEVER = datetime.max.replace(tzinfo=UTC)


async def test_every_answer_is_charged_as_the_endpoint_counts(
    first: ModelServer, second: ModelServer
) -> None:
    purse = Purse()
    asked = sum(len(turn.content.split()) for turn in TURNS)
    first.script({"do": "text", "text": "not the form"}, {"do": "json", "value": {"n": 1}}, DOWN)
    async with both(first.url, second.url) as model:
        with on_account(purse):
            await model.formed(TURNS, SCHEMA, name="n", parse=lambda found: found["n"])
            await whole(model.stream(TURNS))
        await whole(model.stream(TURNS))  # nobody's
    assert [(spent.model, spent.estimated) for spent in purse.spent] == [(MODEL, 0), (MODEL, 0), (OTHER, 0)]
    assert purse.spent[0].prompt_tokens == asked
    assert purse.spent[0].completion_tokens == 3


@pytest.mark.parametrize("do", ["text", "ended", "hang"])
async def test_what_the_endpoint_does_not_count_is_reckoned_and_marked(do: str) -> None:
    purse = Purse()
    with ModelServer(refuses=["stream_options"], key="first-key") as server:
        async with both(server.url, server.url) as model:
            server.script({"do": do, "text": "один два три четыре"})
            answer = model.stream(TURNS)
            with on_account(purse), suppress(ModelUnavailable):
                await whole(answer)
    prompt = sum(estimate(turn.content) for turn in TURNS)
    said = estimate(answer.text)
    assert answer.text
    assert purse.spent == [Spent(MODEL, prompt, said, estimated=prompt + said)]


async def test_what_was_not_answered_costs_nothing(first: ModelServer) -> None:
    purse = Purse()
    first.script(DOWN)
    async with both(first.url, first.url, fallback_base_url=None, fallback_model=None) as model:
        with on_account(purse), pytest.raises(ModelUnavailable):
            await whole(model.stream(TURNS))
    assert purse.spent == []


async def test_an_empty_account_asks_nobody(first: ModelServer, second: ModelServer) -> None:
    async with both(first.url, second.url) as model:
        with on_account(Purse(empty=True)):
            with pytest.raises(TokensUsedUp):
                await whole(model.stream(TURNS))
            with pytest.raises(TokensUsedUp):
                await model.formed(TURNS, SCHEMA, name="n", parse=dict)
    assert first.requests == second.requests == []
