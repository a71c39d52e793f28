"""After a correction the bot offers to remember what was said instead."""

from __future__ import annotations

import pytest

from keepsake.facts.signals import corrected
from keepsake.locales import translate
from tests.handlers.talking import Person, talking
from tests.model_server import ModelServer


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("No, I meant my sister lives in Lyon", "My sister lives in Lyon"),
        ("no, I live in Irkutsk", "I live in Irkutsk"),
        ("Sorry, I misspoke: the train leaves at nine", "The train leaves at nine"),
        ("Oh no, that's wrong, I'm allergic to nuts", "I'm allergic to nuts"),
        ("Нет, я имел в виду, что поезд уходит в девять", "Поезд уходит в девять"),
        ("нет, я живу в Иркутске", "Я живу в Иркутске"),
        ("Точнее, собаку моей сестры зовут Рекс", "Собаку моей сестры зовут Рекс"),
        ("ý tôi là em gái tôi sống ở Huế", "Em gái tôi sống ở Huế"),
        ("不对，我住在北京", "我住在北京"),
        # Nothing that stands by itself, or no correction at all.
        ("No, I meant Lyon", None),
        ("no, thanks", None),
        ("No, I do not want that at all", None),
        ("Нет у меня кошки", None),
        ("Не в Ангарске, а в Иркутске", None),
        ("no, I meant where is the station?", None),
        ("no, I meant my password is hunter2-Xy9!q", None),
        ("I live in Irkutsk", None),
        ("no", None),
        ("", None),
        ("No, I meant " + "this and that " * 40, None),
    ],
)
def test_what_is_said_instead(said: str, instead: str | None) -> None:
    assert corrected(said) == instead


@pytest.mark.parametrize(
    ("language", "said", "label", "kept"),
    [
        ("en", "no, I meant the train leaves at nine", "Remember this", "The train leaves at nine"),
        ("ru", "нет, я имел в виду, что поезд уходит в девять", "Запомнить", "Поезд уходит в девять"),
    ],
)
async def test_a_tap_remembers_it(language: str, said: str, label: str, kept: str) -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            ann, bob = Person(talk, language=language), Person(talk, 8)
            await ann.say(said)
            (button,) = ann.chat.buttons
            assert button.label == f"{label}: {kept}"
            assert await bob.press_data(button.data) == translate("en", "button-not-yours")
            assert await ann.press(label) == translate(language, "remember-done", content=kept)
            assert await talk.rows("SELECT content, origin FROM facts") == [(kept, "by_hand")]
            assert await ann.press_data("remember:7:99") == translate(language, "button-stale")
            assert await ann.press_data(f"remember:7:{'9' * 30}") == translate(language, "button-stale")
            await ann.say("thanks")
            assert ann.chat.buttons == []
            assert await ann.say("/pause")
            await ann.say(said)
            assert ann.chat.buttons == []


async def test_it_is_offered_also_where_no_model_answers() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            talk.app.model = None
            ann = Person(talk)
            await ann.say("no, I meant the train leaves at nine")
            assert await ann.press("Remember this") == translate(
                "en", "remember-done", content="The train leaves at nine"
            )


async def test_what_somebody_else_corrected_is_not_offered() -> None:
    with ModelServer() as server:
        async with talking(server.url) as talk:
            ann = Person(talk)
            await ann.say("no, I meant the train leaves at nine", sender="Mallory")
            assert ann.chat.buttons == []
