"""/pause, /resume and /incognito over a real memory and a model behind HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from keepsake.locales import translate
from tests.clocks import Hands
from tests.handlers.talking import Person, Talk, talking
from tests.model_server import ModelServer

SECRET = "the vault is under the heron-17 statue"
TABLES = (
    "messages",
    "keywords",
    "events",
    "facts",
    "fact_history",
    "embeddings",
    "vector_queue",
    "summaries",
)


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def opened(server: ModelServer, hands: Hands, **more: Any) -> Any:
    return talking(
        server.url, clock=hands, **{"fact_extraction_every": 2, "extraction_idle_minutes": 5} | more
    )


@pytest.fixture
async def talk(server: ModelServer, hands: Hands) -> AsyncIterator[Talk]:
    async with opened(server, hands) as talk:
        talk.app.clock = hands
        yield talk


async def held(talk: Talk) -> dict[str, int]:
    return {name: (await talk.rows(f"SELECT count(*) FROM {name}"))[0][0] for name in TABLES}


def last_request(server: ModelServer) -> str:
    return "\n".join(turn["content"] for turn in server.chats()[-1]["messages"])


async def test_nothing_of_a_pause_is_kept_and_it_is_answered_from_before_and_from_ram(
    talk: Talk, server: ModelServer
) -> None:
    ann = Person(talk)
    await ann.say("I live in Angarsk")
    await ann.say("my cat is called Murka")
    await talk.app.finish()
    assert await ann.say("/pause") == translate("en", "pause-begun")
    before = await held(talk)
    assert await ann.say(SECRET)
    answer = await ann.say("what is under the statue? and where do I live?")
    asked = last_request(server)
    assert f"User: {SECRET}" in asked
    assert "Lives in Angarsk" in asked
    assert "Murka" in asked
    assert answer
    await talk.app.finish()
    assert await held(talk) == before
    assert await ann.say("/pause") == translate("en", "pause-already")
    assert translate("en", "stats-paused") in await ann.say("/stats")
    assert await ann.say("/resume") == translate("en", "resume-done")
    assert await ann.say("/resume") == translate("en", "resume-nothing")
    await ann.say("what is under the statue?")
    assert "heron-17" not in last_request(server)
    assert "heron" not in await ann.say("/search heron")


async def test_no_later_sweep_takes_what_was_said_in_a_pause(
    talk: Talk, server: ModelServer, hands: Hands
) -> None:
    ann = Person(talk)
    await ann.say("one thing")
    await ann.say("/pause")
    await ann.say("remember that I am allergic to herons and live in Oslo " + "and so on " * 30)
    await ann.say("/resume")
    await ann.say("another thing")
    hands.now += timedelta(hours=1)
    await ann.say("a third thing")
    await ann.say("a fourth thing")
    await talk.app.finish()
    structured = [str(body) for body in server.requests if "response_format" in body]
    assert structured
    assert not any("Oslo" in body for body in structured)
    assert await talk.rows("SELECT content FROM facts") == []


async def test_a_pause_outlives_a_restart_and_what_was_said_in_it_does_not(
    server: ModelServer, hands: Hands
) -> None:
    async with opened(server, hands) as talk:
        ann = Person(talk)
        await ann.say("my cat is called Murka")
        await ann.say("/pause")
        await ann.say(SECRET)
    async with opened(server, hands) as talk:
        before, ann = await held(talk), Person(talk, language="ru")
        await ann.say("what is my cat called, and the statue?")
        assert ann.chat.notes == [translate("ru", "pause-goes-on")]
        assert "Murka" in last_request(server)
        assert "heron-17" not in last_request(server)
        await ann.say("and now?")
        assert len(ann.chat.notes) == 1
        await talk.app.finish()
        assert await held(talk) == before


async def test_what_asks_to_be_kept_is_refused_in_a_pause(talk: Talk) -> None:
    ann = Person(talk)
    await ann.say("/remember I sail")
    await ann.say("/facts")
    await ann.press("I sail")
    await ann.press("Correct")
    assert await ann.say("/pause")
    refused = translate("en", "private-not-stored")
    assert await ann.say("/remember I row") == refused
    await ann.say("/facts")
    await ann.press("I sail")
    assert await ann.press("Correct") == refused
    await ann.say("I row")
    assert await talk.rows("SELECT content FROM facts WHERE status = 'active'") == [("I sail",)]


async def test_a_fact_that_is_forgotten_in_a_pause_does_not_end_it(talk: Talk) -> None:
    ann = Person(talk)
    await ann.say("/remember I sail")
    await ann.say("/pause")
    await ann.say(SECRET)
    await ann.say("/facts")
    await ann.press("I sail")
    await ann.press("Delete")
    await ann.say("what is under the statue?")
    assert await talk.rows("SELECT content FROM facts UNION SELECT content FROM messages") == []
    session = talk.app.privacy.session(7)
    assert session is not None
    assert len(session.said) == 4


async def test_another_person_is_kept_meanwhile(talk: Talk) -> None:
    ann, bob = Person(talk), Person(talk, 8)
    await ann.say("/pause")
    await bob.say("I stay")
    await ann.say(SECRET)
    assert await talk.rows("SELECT user_id, content FROM messages WHERE role = 'user'") == [(8, "I stay")]


async def test_why_and_context_in_a_pause(talk: Talk) -> None:
    ann = Person(talk)
    await ann.say("I live in Angarsk")
    await ann.say("I love tea")
    await talk.app.finish()
    await ann.say("/pause")
    assert await ann.say("/why") == translate("en", "why-no-answer")
    await ann.say("where do I live?")
    assert "] Lives in Angarsk (confidence" in await ann.say("/why")
    context = await ann.say("/context")
    assert "User: where do I live?" in context
    assert "Lives in Angarsk" in context
    await ann.say("/incognito")
    assert await ann.say("/why") == translate("en", "why-no-answer")
    await ann.say("hello there")
    assert await ann.say("/why") == translate("en", "why-nothing")
    context = await ann.say("/context")
    assert "hello there" in context
    assert "Angarsk" not in context


async def test_incognito_shows_nothing_that_is_remembered_and_keeps_nothing(
    talk: Talk, server: ModelServer
) -> None:
    ann = Person(talk)
    await ann.say("I live in Angarsk")
    await talk.app.finish()
    before = await held(talk)
    begun = await ann.say("/incognito")
    assert begun == translate("en", "incognito-begun", minutes=30)
    await ann.say(SECRET)
    await ann.say("where do I live, and what is under the statue?")
    assert "heron-17" in last_request(server)
    assert "Angarsk" not in last_request(server)
    await talk.app.finish()
    assert await held(talk) == before
    assert await ann.say("/incognito") == translate("en", "incognito-ended")
    await ann.say("where do I live?")
    assert "heron-17" not in last_request(server)
    assert "Angarsk" in last_request(server)


async def test_incognito_ends_by_its_button_and_a_second_press_says_so(talk: Talk) -> None:
    ann, bob = Person(talk), Person(talk, 8)
    await ann.say("/incognito")
    (data,) = [button.data for button in ann.chat.buttons]
    await bob.say("/incognito")
    assert await bob.press_data(data) == translate("en", "button-not-yours")
    assert await ann.press("End it") == translate("en", "incognito-ended")
    assert await ann.press_data(data) == translate("en", "button-stale")
    assert await ann.press_data("incognito:7") == translate("en", "button-stale")
    assert talk.app.privacy.mode(8) == "incognito"


async def test_incognito_ends_after_the_gap_and_what_is_said_then_is_held_back_once(
    talk: Talk, hands: Hands
) -> None:
    ann = Person(talk)
    await ann.say("/incognito")
    await ann.say(SECRET)
    hands.now += timedelta(minutes=29)
    assert "heron" in await ann.say("what is under the heron statue?")
    hands.now += timedelta(minutes=31)
    over = translate("en", "incognito-over")
    assert await ann.say("not for your memory", at=hands.now) == over
    assert await ann.say("nor this, sent before that was told", at=hands.now) == over
    assert await talk.said() == []
    hands.now += timedelta(seconds=1)
    await ann.say("this may stay", at=hands.now)
    assert next(text for _, text in await talk.said()) == "this may stay"


async def test_incognito_does_not_outlive_a_restart(server: ModelServer, hands: Hands) -> None:
    async with opened(server, hands) as talk:
        await Person(talk).say("/incognito")
    async with opened(server, hands) as talk:
        ann = Person(talk)
        assert await ann.say(SECRET) == translate("en", "incognito-over")
        assert await talk.said() == []
        await ann.say("this may stay")
        assert (await talk.said())[0] == ("user", "this may stay")


async def test_a_pause_goes_on_behind_incognito(talk: Talk) -> None:
    ann = Person(talk)
    await ann.say("/pause")
    await ann.say("/incognito")
    assert await ann.say("/incognito") == translate("en", "incognito-ended-paused")
    await ann.say(SECRET)
    assert await talk.said() == []
    await ann.say("/incognito")
    assert await ann.say("/resume") == translate("en", "resume-done")
    await ann.say("this may stay")
    assert (await talk.said())[0] == ("user", "this may stay")


async def test_without_an_answer_it_says_that_nothing_is_kept(talk: Talk, server: ModelServer) -> None:
    ann = Person(talk)
    await ann.say("/pause")
    server.script(*[{"do": "status", "status": 400, "message": "no"}] * 3)
    assert await ann.say(SECRET) == translate("en", "private-no-answer")
    talk.app.model = None
    assert await ann.say(SECRET) == translate("en", "private-no-model")
    assert await ann.say("   ") == translate("en", "message-empty")


async def test_an_erasure_ends_it(talk: Talk) -> None:
    ann = Person(talk)
    await ann.say("/pause")
    await ann.say(SECRET)
    assert await talk.memory.begin_erasure(7)
    await talk.memory.flush()
    assert await talk.rows("SELECT * FROM privacy") == []
    assert talk.app.privacy.mode(7) is None
    assert talk.app.privacy.session(7) is None
