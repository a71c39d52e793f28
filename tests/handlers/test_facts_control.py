"""/facts over a real memory: one fact seen whole, corrected, filtered, and as it was held at another time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bot_models.awaited import PATIENCE
from keepsake.locales import translate
from tests.clocks import Hands
from tests.handlers.talking import Person, Talk, talking
from tests.model_server import ModelServer


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
async def talk(hands: Hands) -> AsyncIterator[Talk]:
    with ModelServer() as server:
        async with talking(server.url, clock=hands, fact_extraction_every=1) as opened:
            opened.app.clock = hands
            yield opened


async def moved(talk: Talk, hands: Hands) -> Person:
    """Somebody who lived in Angarsk in March and lives in Irkutsk since May."""
    ann = Person(talk)
    await ann.say("I live in Angarsk")
    await talk.app.finish()
    hands.now = datetime(2026, 5, 2, 9, tzinfo=UTC)
    await ann.say("I live in Irkutsk")
    await talk.app.finish()
    return ann


async def test_a_fact_is_shown_with_its_source_and_what_it_was_before(talk: Talk, hands: Hands) -> None:
    ann = await moved(talk, hands)
    page = await ann.say("/facts")
    assert page.splitlines()[:2] == ["What I know about you:", "[personal]"]
    assert page.splitlines()[2].startswith("1. Lives in Irkutsk (confidence 0.")
    assert [button.label for button in ann.chat.buttons] == ["1. Lives in Irkutsk"]
    shown = (await ann.press("1. Lives")).splitlines()
    assert shown[0] == "Lives in Irkutsk"
    assert shown[1].startswith("personal, confidence 0.")
    assert shown[1].endswith("updated 2026-05-02")
    assert shown[2:] == [
        "Where it comes from:",
        "• 2026-05-02, you: I live in Irkutsk",
        "Its history:",
        "• 2026-03-01 learned: Lives in Angarsk",
        "• 2026-05-02 learned: Lives in Irkutsk",
        "• 2026-05-02 before: Lives in Angarsk",
    ]
    assert [button.label for button in ann.chat.buttons] == ["Correct", "Delete", "◀ Back"]
    assert (await ann.press("Back")) == page


async def test_a_correction_takes_the_place_of_the_fact(talk: Talk, hands: Hands) -> None:
    ann = await moved(talk, hands)
    hands.now += timedelta(days=1)
    await ann.say("/facts")
    await ann.press("Lives in Irkutsk")
    asked = await ann.press("Correct")
    assert "“Lives in Irkutsk”" in asked
    said = await talk.said()
    assert await ann.say("Lives in Ust-Ilimsk") == "Corrected. From now on: Lives in Ust-Ilimsk"
    assert await talk.said() == said  # a wording is no message, as a command is none
    rows = await talk.rows("SELECT content, status, origin, vital, valid_from FROM facts ORDER BY id")
    since = int(datetime(2026, 5, 2, 9, tzinfo=UTC).timestamp() * 1e6)
    assert [row[:3] for row in rows] == [
        ("Lives in Angarsk", "superseded", "extracted"),
        ("Lives in Irkutsk", "superseded", "extracted"),
        ("Lives in Ust-Ilimsk", "active", "by_hand"),
    ]
    assert rows[2][3:] == (1, since)
    await ann.say("/facts")
    shown = await ann.press("Ust-Ilimsk")
    assert "• 2026-05-03 learned by yourself: Lives in Ust-Ilimsk" in shown
    assert "• 2026-05-03 before, corrected by yourself: Lives in Irkutsk" in shown
    assert "Its history:\n• 2026-03-01 learned: Lives in Angarsk" in shown


async def test_a_correction_of_what_no_rule_connects(talk: Talk) -> None:
    ann = Person(talk)
    await ann.say("/remember The boiler is serviced by Ivan, blue van")
    await ann.say("/facts")
    await ann.press("boiler")
    await ann.press("Correct")
    await ann.say("Pyotr looks after the heating")
    rows = await talk.rows("SELECT content, status FROM facts ORDER BY id")
    assert rows == [
        ("The boiler is serviced by Ivan, blue van", "superseded"),
        ("Pyotr looks after the heating", "active"),
    ]


async def test_a_fact_is_deleted_and_brought_back(talk: Talk) -> None:
    ann, bob = Person(talk), Person(talk, 8)
    for text in ("I sail on the lake", "Murka is my cat"):
        await ann.say(f"/remember {text}")
    await ann.say("/facts")
    await ann.press("Murka")
    (data,) = [button.data for button in ann.chat.buttons if button.label == "Delete"]
    await bob.press_data(data)
    assert len(await contents(talk)) == 2
    await ann.press("Delete")
    assert await contents(talk) == ["I sail on the lake"]
    await ann.press(translate("en", "forget-undo"))
    assert sorted(await contents(talk)) == ["I sail on the lake", "Murka is my cat"]


async def ready_to_correct(talk: Talk) -> Person:
    ann = Person(talk)
    await ann.say("/remember I sail")
    await ann.say("/facts")
    await ann.press("I sail")
    await ann.press("Correct")
    return ann


async def contents(talk: Talk) -> list[str]:
    return [row[0] for row in await talk.rows("SELECT content FROM facts WHERE status = 'active'")]


async def test_a_command_ends_the_wait_for_a_wording(talk: Talk) -> None:
    ann = await ready_to_correct(talk)
    await ann.say("/stats")
    assert (await ann.say("I row")) == "You wrote: I row"
    ann = await ready_to_correct(talk)
    assert await ann.say("/cancel") == translate("en", "correct-dropped")
    assert (await ann.say("I row")) != translate("en", "correct-done", content="I row")
    assert await contents(talk) == ["I sail"]


async def test_the_button_ends_the_wait_and_so_do_ten_minutes(talk: Talk, hands: Hands) -> None:
    ann = await ready_to_correct(talk)
    assert (await ann.press("Leave")).startswith(translate("en", "correct-dropped"))
    await ann.say("I row")
    ann = await ready_to_correct(talk)
    hands.now += PATIENCE + timedelta(seconds=1)
    await ann.say("I fly")
    assert await contents(talk) == ["I sail"]


async def test_what_others_say_is_no_wording(talk: Talk) -> None:
    ann = await ready_to_correct(talk)
    bob = Person(talk, 8)
    await bob.say("I row")
    await ann.say("I swim", sender="Mallory")
    assert await contents(talk) == ["I sail"]
    await ann.say("I row")
    assert await contents(talk) == ["I row"]


async def test_a_secret_is_no_wording(talk: Talk) -> None:
    ann = await ready_to_correct(talk)
    assert await ann.say("my password is hunter2-Xy9!q") == translate("en", "remember-secret")
    assert await contents(talk) == ["I sail"]


async def test_a_fact_that_is_gone_or_somebody_elses_is_not_touched(talk: Talk) -> None:
    ann, bob = await ready_to_correct(talk), Person(talk, 8)
    (fact_id,) = (await talk.rows("SELECT id FROM facts"))[0]
    await bob.say("/remember I ski")
    assert await bob.press_data(f"facts:7:1::{fact_id}:c") == translate("en", "button-not-yours")
    assert await bob.press_data(f"facts:8:1::{fact_id}:c") == translate("en", "fact-gone")
    assert await bob.press_data("facts:2") == translate("en", "button-stale")
    assert await bob.press_data(f"facts:8:1::{'9' * 30}:c") == translate("en", "button-stale")
    await talk.memory.begin_erasure(7)
    await talk.memory.flush()
    assert await ann.say("I row") == translate("en", "fact-gone")
    assert await contents(talk) == ["I ski"]


async def test_what_was_held_true_then(talk: Talk, hands: Hands) -> None:
    ann = await moved(talk, hands)
    march = (await ann.say("/facts 2026-03")).splitlines()
    assert march == [
        "What was held true in 2026-03:",
        "[personal]",
        "1. Lives in Angarsk (2026-03-01 – 2026-05-02)",
    ]
    assert (await ann.press("Angarsk")).splitlines()[-1] == (
        "• 2026-05-02 before: Lives in Angarsk → Lives in Irkutsk"
    )
    assert [button.label for button in ann.chat.buttons] == ["◀ Back"]
    assert (await ann.press("Back")).splitlines() == march
    year = (await ann.say("/facts 2026")).splitlines()
    assert year[2:] == [
        "1. Lives in Angarsk (2026-03-01 – 2026-05-02)",
        "2. Lives in Irkutsk (since 2026-05-02)",
    ]
    assert "Lives in Angarsk" not in await ann.say("/facts 2026-05-03")
    assert await ann.say("/facts 2025") == translate("en", "facts-none-then", date="2025")


async def test_what_was_believed_wrongly_stands_there_as_taken_back(talk: Talk, hands: Hands) -> None:
    ann = await ready_to_correct(talk)
    hands.now += timedelta(minutes=5)
    await ann.say("I row")
    assert (await ann.say("/facts 2026-03-01")).splitlines()[2:] == [
        "1. I sail (I believed it from 2026-03-01 to 2026-03-01; it was corrected)",
        "2. I row (since 2026-03-01)",
    ]


@pytest.mark.parametrize("date", ["2026-13", "2026-02-30", "14.03.2026", "0000", "2026-", "2026-03-14-1"])
async def test_a_date_that_cannot_be_gets_a_line(talk: Talk, date: str) -> None:
    assert await Person(talk).say(f"/facts {date}") == translate("en", "facts-no-date", date=date)


async def test_a_day_to_come_says_so(talk: Talk) -> None:
    assert await Person(talk).say("/facts 2027-1") == translate("en", "facts-yet-to-come", date="2027-01")


async def test_words_and_categories_filter(talk: Talk) -> None:
    ann = Person(talk, language="ru")
    for text in ("I sail on the lake", "My boat is called Heron", "I live in Angarsk"):
        await ann.say(f"/remember {text}")
    assert "Heron" in (found := await ann.say("/facts boats"))
    assert "sail" not in found
    await ann.press("Heron")
    assert await ann.press("Назад") == found
    everything = await ann.say("/facts прочее")
    assert "Heron" in everything
    assert "sail" in everything
    assert await ann.say("/facts bicycles") == translate("ru", "facts-not-found")
    ann.app.searches.forget(7)
    await ann.say("/facts boat")
    ann.app.searches.forget(7)
    assert await ann.press_data(f"facts:7:1:~{'x' * 8}") == translate("ru", "facts-search-again")


async def test_why_shows_facts_and_messages_of_the_last_answer_at_once(talk: Talk, hands: Hands) -> None:
    ann = await moved(talk, hands)
    await ann.say("where do I live?")
    why = (await ann.say("/why")).splitlines()
    fact = next(at for at, line in enumerate(why) if "] Lives in Irkutsk (confidence 0." in line)
    assert why[fact].startswith("[")
    assert why[fact + 1] == "    • 2026-05-02, you: I live in Irkutsk"
