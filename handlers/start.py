"""/start: what this is."""

from __future__ import annotations

from handlers.chat import note_weak_model
from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate


async def handle_start(app: Assistant, chat: Chat, _args: str) -> None:
    """Greets, and says so where a weak model answers."""
    await chat.send(translate(chat.language, "start"))
    await note_weak_model(app, chat)
