"""/remember: keeps what is asked for, at once, whether there is a model or not."""

from __future__ import annotations

from handlers.pause import refused
from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate


async def handle_remember(app: Assistant, chat: Chat, args: str) -> None:
    """Stores the words after the command as a fact that stays, and shows it."""
    if not args:
        await chat.send(translate(chat.language, "remember-usage"))
        return
    if await refused(app, chat):
        return
    fact = await app.memory.remember(chat.user_id, args)
    if fact is None:
        await chat.send(translate(chat.language, "remember-secret"))
    else:
        await chat.send(translate(chat.language, "remember-done", content=fact.content))
