"""/forget through the real handlers, memory and model: it asks, forgets, undoes, and says what it did."""

from __future__ import annotations

from typing import Any

import pytest

from handlers import press, receive
from keepsake.assistant import Button
from keepsake.forgetting.removal import Replied
from keepsake.locales import translate
from tests.handlers.fakes import RecordingChat
from tests.handlers.talking import Talk, talking
from tests.model_server import ModelServer

SMALL: dict[str, Any] = {"embedding_model": "none", "fact_extraction_every": 1}


class Person:
    """Somebody who writes and presses buttons."""

    def __init__(self, talk: Talk, user: int = 7, language: str = "en") -> None:
        self.talk, self.user, self.language = talk, user, language
        self.buttons: list[Button] = []

    async def say(self, text: str, replied: Replied | None = None, key: str | None = None) -> str:
        chat = self._chat()
        chat.said.replied, chat.said.key = replied, key
        await receive(self.talk.app, chat, text)
        return await self._shown(chat)

    async def press(self, label: str) -> str:
        (button,) = [one for one in self.buttons if one.label.startswith(label)]
        return await self.press_data(button.data)

    async def press_data(self, data: str) -> str:
        assert len(data.encode()) <= 64
        chat = self._chat()
        await press(self.talk.app, chat, data)
        return await self._shown(chat)

    def words(self, key: str, **values: Any) -> str:
        return translate(self.language, key, **values)

    async def facts(self) -> list[str]:
        await self.talk.memory.flush()
        return [fact.content for fact in await self.talk.memory.get_facts(self.user)]

    def _chat(self) -> RecordingChat:
        chat = RecordingChat(self.user)
        chat.language = self.language
        return chat

    async def _shown(self, chat: RecordingChat) -> str:
        await self.talk.app.tasks.wait()
        await self.talk.memory.flush()
        self.buttons = chat.buttons or self.buttons
        return "\n".join(chat.shown)


@pytest.mark.parametrize(
    ("language", "said", "fact", "what"),
    [
        ("en", "I live in Angarsk", "Lives in Angarsk", "where I live"),
        ("ru", "я живу в Ангарске", "Живёт в Ангарске", "Ангарск"),
    ],
)
async def test_one_that_fits_is_asked_about_and_can_be_undone(
    language: str, said: str, fact: str, what: str
) -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            ann = Person(talk, language=language)
            await ann.say(said)
            assert await ann.say(f"/forget {what}") == ann.words("forget-this", content=fact)
            assert await ann.facts() == [fact]
            asked = ann.buttons
            done = await ann.press(ann.words("forget-yes"))
            assert done.startswith(ann.words("forget-done"))
            assert ann.words("forget-while", seconds=60) in done
            assert fact not in done
            assert await ann.facts() == []
            offered = [button.label for button in ann.buttons]
            assert offered == [ann.words("forget-undo"), ann.words("forget-message", snippet=said)]
            assert await ann.press(ann.words("forget-undo")) == ann.words("forget-undone")
            assert await ann.facts() == [fact]
            assert await ann.press(ann.words("forget-undo")) == ann.words("forget-late")
            await ann.press_data(asked[0].data)
            assert await ann.facts() == []
            assert await ann.press_data(asked[0].data) == ann.words("forget-gone")


async def test_of_several_the_one_that_is_tapped_goes_with_its_message() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            ann = Person(talk)
            for thing in ("green tea", "black tea", "white tea", "red tea", "blue tea", "mint tea", "jazz"):
                await ann.say(f"I like {thing}")
            assert await ann.say("/forget tea") == ann.words("forget-which")
            assert [button.label for button in ann.buttons] == [
                *(f"Likes {kind} tea" for kind in ("mint", "blue", "red", "white", "black")),
                ann.words("forget-keep"),
            ]
            await ann.press("Likes red")
            await ann.press(ann.words("forget-message", snippet="I like red tea"))
            assert "Likes red tea" not in await ann.facts()
            assert ("user", "I like red tea") not in await talk.said()
            assert await ann.press(ann.words("forget-undo")) == ann.words("forget-undone")
            assert "Likes red tea" in await ann.facts()
            assert ("user", "I like red tea") in await talk.said()


async def test_what_is_not_known_or_not_wanted_changes_nothing() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            ann = Person(talk)
            assert await ann.say("/forget") == ann.words("forget-usage")
            assert await ann.say("/forget Angarsk") == ann.words("forget-nothing")
            await ann.say("I live in Angarsk")
            assert await ann.say("/forget quantum physics") == ann.words("forget-nothing")
            await ann.say("/forget Angarsk")
            assert await ann.press(ann.words("forget-keep")) == ann.words("forget-kept")
            assert await ann.facts() == ["Lives in Angarsk"]
            for stale in ("forget:x:7:1", "forget:f:7", "forget:f:7:none", "forget:m:7:1"):
                assert await ann.press_data(stale) == ann.words("button-stale")


async def test_the_buttons_of_somebody_else_do_nothing() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            ann, bob = Person(talk), Person(talk, 8)
            await ann.say("I live in Angarsk")
            await ann.say("/forget Angarsk")
            assert [await bob.press_data(button.data) for button in ann.buttons] == ["", ""]
            assert await ann.facts() == ["Lives in Angarsk"]
            await ann.press(ann.words("forget-yes"))
            assert [await bob.press_data(button.data) for button in ann.buttons] == ["", ""]
            assert await ann.facts() == []


async def test_a_message_that_is_replied_to_goes_with_what_came_only_from_it() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            ann = Person(talk)
            await ann.say("I live in Angarsk", key="telegram:1:7:5")
            done = await ann.say("/forget", Replied("telegram:1:7:5", 7, 5))
            assert done.startswith(ann.words("forget-message-done"))
            assert await ann.facts() == []
            assert [role for role, _ in await talk.said()] == ["assistant"]
            assert await ann.press(ann.words("forget-undo")) == ann.words("forget-undone")
            assert await ann.facts() == ["Lives in Angarsk"]
            assert len(await talk.said()) == 2
            assert await ann.say("/forget", Replied("telegram:1:7:9", 7, 9)) == ann.words("forget-not-here")


async def test_a_legal_hold_stands_against_it() -> None:
    with ModelServer() as server:
        async with talking(server.url, **SMALL) as talk:
            ann = Person(talk)
            await ann.say("I live in Angarsk")
            engine = await talk.memory.engine()
            engine.forgetting.ledger.hold(7, "a lawsuit", engine.clock())
            await ann.say("/forget Angarsk")
            assert await ann.press(ann.words("forget-yes")) == ann.words("delete-me-held")
            assert await ann.facts() == ["Lives in Angarsk"]
