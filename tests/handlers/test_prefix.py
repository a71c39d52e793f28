"""What endpoints cache: the beginning that requests share, as long as it can be."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import takewhile

from keepsake.locales import translate
from keepsake.prompt.request import system_text
from tests.handlers.talking import talking
from tests.model_server import ModelServer


def systems(server: ModelServer) -> list[str]:
    return [body["messages"][0]["content"] for body in server.chats()]


def shared_by(first: str, second: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


async def test_two_requests_of_one_person_share_all_up_to_the_newest_messages() -> None:
    with ModelServer() as server:
        async with talking(server.url, fact_extraction_every=1) as talk:
            await talk.say("I live in Angarsk")
            await talk.app.finish()
            for text in ("ping", "pong"):
                await talk.say(text)
        _, first, second = systems(server)
    shared = shared_by(first, second)
    # The profile too: only what comes after it differs.
    assert "Lives in Angarsk" in shared
    assert shared.endswith(
        f"{translate('en', 'block-stm')}\nUser: I live in Angarsk\nAssistant: You wrote: I live in Angarsk\n"
    )


async def test_two_people_share_all_but_their_block() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            for person in (7, 8):
                await talk.say(f"I am number {person}", user=person)
                await talk.say("ping", user=person)
        _, first, _, second = systems(server)
    rules, line, _ = first.partition(f"\n{translate('en', 'block-stm')}\n")
    assert shared_by(first, second).startswith(rules + line)


async def test_what_changes_by_day_and_language_stands_behind_what_never_does() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            await talk.say("ping", user=7, language="en")
            await talk.say("ping", user=8, language="ru")
        first, second = systems(server)
    rules, _, _ = first.partition("\nToday is ")
    assert rules.endswith("repeat the memory exactly and name its date.\n")
    assert shared_by(first, second).endswith("where that cannot be told, in ")
    days = (datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))
    assert shared_by(*(system_text(day, "en") for day in days)) == f"{rules}\nToday is 2026-1"
