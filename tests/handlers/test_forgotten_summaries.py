"""Summaries beside /forget: what was forgotten is not told again, by whichever message, until it is undone."""

from __future__ import annotations

from keepsake.locales import translate
from tests.handlers.talking import talking
from tests.handlers.test_summaries import SMALL, summed, talk_for_long
from tests.model_server import ModelServer


async def test_a_summary_does_not_tell_what_was_forgotten_until_it_is_undone() -> None:
    told = ["I weigh 77 kilograms", "kilograms: 77 is what I weigh", "I have 12 cats", "and 5 dogs"]
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk.say("/remember I weigh 77 kilograms")
            for text in told:
                await talk.memory.save_message(7, "user", text)
            await talk_for_long(talk)
            first, second = await summed(talk)
            assert "77" in first and "12" in first
            assert "1003" in second
            removal = await talk.memory.removal()
            gone = await removal.forget(7, [(await talk.memory.get_facts(7))[0].id])
            assert (await summed(talk))[0] is None, "what it tells goes at once"
            await talk.memory.flush()
            first, untouched = await summed(talk)
            assert "77" not in first + str(server.summaries()[-1]["messages"])
            assert "12" in first
            assert untouched == second
            assert await removal.undo(7, gone.token)
            await talk.memory.flush()
            assert "77" in (await summed(talk))[0]


async def test_a_message_stays_untold_while_another_fact_of_it_is_forgotten() -> None:
    with ModelServer() as server:
        async with talking(server.url, **(SMALL | {"fact_extraction_every": 1})) as talk:
            await talk.memory.save_message(7, "user", "I love 31 roses, I live in 42 Elm Street")
            await talk_for_long(talk, 9)
            held = await talk.memory.get_facts(7)
            assert [fact.content for fact in held] == ["Lives in 42 Elm Street", "Likes 31 roses"]
            assert "31" in (await summed(talk))[0]
            removal = await talk.memory.removal()
            home, roses = [await removal.forget(7, [fact.id]) for fact in held]
            assert await removal.undo(7, roses.token)
            await talk.memory.flush()
            told = (await summed(talk))[0]
            assert "31" not in told and "42" not in told
            assert await removal.undo(7, home.token)
            await talk.memory.flush()
            assert "42" in (await summed(talk))[0]


async def test_what_is_said_again_later_is_not_told_either() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk.say("/remember I weigh 77 kilograms")
            fact = (await talk.memory.get_facts(7))[0]
            await (await talk.memory.removal()).forget(7, [fact.id])
            await talk.memory.save_message(7, "user", "well, it is 77 kilograms that I weigh")
            await talk_for_long(talk, 9)
            told = (await summed(talk))[0]
            assert "77" not in told and "1002" in told


async def test_of_nothing_that_may_be_told_there_is_no_summary() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            await talk.say("/remember I weigh 77 kilograms")
            for _ in range(8):
                await talk.memory.save_message(7, "user", "I weigh 77 kilograms")
            await talk.memory.flush()
            fact = (await talk.memory.get_facts(7))[0]
            await (await talk.memory.removal()).forget(7, [fact.id])
            await talk.memory.flush()
            assert await summed(talk) == [""]
            assert translate("en", "block-summary") not in (await talk.memory.recall(7, "me")).block
