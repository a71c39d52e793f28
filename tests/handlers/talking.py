"""The real handlers over a real memory and a model behind HTTP; only the chat is a recording one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from handlers import press, receive
from keepsake.assistant import Assistant, Said, build_assistant
from keepsake.clock import Clock, system_clock
from keepsake.llm.factory import open_extraction_model, open_model
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from tests.handlers.fakes import RecordingChat
from tests.model_server import MODEL


@dataclass(frozen=True, slots=True)
class Talk:
    app: Assistant
    memory: MemoryManager

    async def say(self, text: str, *, user: int = 7, language: str = "en") -> list[str]:
        """What is shown for a message, once all that it leads to is done."""
        chat = RecordingChat(user)
        chat.language = language
        await receive(self.app, chat, text)
        await self.app.tasks.wait()
        return chat.shown

    async def rows(self, statement: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """What memory.db holds."""
        database = (await self.memory.engine()).storage.database
        return await database.read(lambda connection: connection.execute(statement, values).fetchall())

    async def said(self) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in await self.rows("SELECT role, content FROM messages ORDER BY id")]


@asynccontextmanager
async def talking(url: str, *, clock: Clock = system_clock, **values: Any) -> AsyncIterator[Talk]:
    """An assistant whose model is at `url`; recall is by keyword."""
    chosen = {"openai_base_url": url, "openai_model": MODEL, "allowed_user_ids": "*"}
    settings = load_settings(_env_file=None, **(chosen | values))
    model = open_model(settings)
    assert model is not None
    async with MemoryManager(settings, model=open_extraction_model(settings, model), clock=clock) as memory:
        model.breaker.when_back(memory.catch_up)
        yield Talk(await build_assistant(settings, memory, model), memory)
    await model.close()


class Person:
    """Somebody who talks and presses buttons in one chat."""

    def __init__(self, talk: Talk, user: int = 7, language: str = "en") -> None:
        self.app = talk.app
        self.chat = RecordingChat(user)
        self.chat.language = language

    async def say(self, text: str, **said: Any) -> str:
        """What is shown for a message, once all that it leads to is done."""
        before = len(self.chat.shown)
        self.chat.said = Said(**said)
        self.chat.buttons.clear()
        await receive(self.app, self.chat, text)
        await self.app.tasks.wait()
        return "\n".join(self.chat.shown[before:])

    async def press(self, label: str) -> str:
        """What is shown for a press of the button whose label has these words."""
        (data,) = {button.data for button in self.chat.buttons if label in button.label}
        return await self.press_data(data)

    async def press_data(self, data: str) -> str:
        assert len(data.encode()) <= 64
        before = len(self.chat.shown)
        self.chat.buttons.clear()
        await press(self.app, self.chat, data)
        return "\n".join(self.chat.shown[before:])
