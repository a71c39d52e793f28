"""/pause and /resume: between them nothing that is said is kept."""

from __future__ import annotations

from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate


async def handle_pause(app: Assistant, chat: Chat, _args: str) -> None:
    """From now on nothing is kept; a pause that stands already goes on."""
    if app.privacy.is_paused(chat.user_id):
        await chat.send(translate(chat.language, "pause-already"))
        return
    await app.privacy.pause(chat.user_id)
    await chat.send(translate(chat.language, "pause-begun"))


async def handle_resume(app: Assistant, chat: Chat, _args: str) -> None:
    """Ends the pause, and a conversation incognito: what was said in it is forgotten."""
    if app.privacy.mode(chat.user_id) is None:
        await chat.send(translate(chat.language, "resume-nothing"))
        return
    await app.privacy.resume(chat.user_id)
    await chat.send(translate(chat.language, "resume-done"))


async def refused(app: Assistant, chat: Chat) -> bool:
    """Says so where nothing is kept at present, and what was asked for would be."""
    if app.privacy.mode(chat.user_id) is None:
        return False
    await chat.send(translate(chat.language, "private-not-stored"))
    return True
