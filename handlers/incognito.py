"""/incognito: one conversation for which nothing is remembered, and of which nothing is kept."""

from __future__ import annotations

from keepsake.assistant import Assistant, Button, Chat
from keepsake.locales import translate

_NAME, _END = "incognito", "end"


async def handle_incognito(app: Assistant, chat: Chat, _args: str) -> None:
    """Begins such a conversation; said in one, ends it."""
    if app.privacy.mode(chat.user_id) == "incognito" and not app.privacy.is_over(chat.user_id):
        await _end(app, chat)
        return
    await app.privacy.begin_incognito(chat.user_id)
    minutes = app.settings.session_gap_minutes
    end = Button(translate(chat.language, "incognito-end"), f"{_NAME}:{_END}:{chat.user_id}")
    await chat.send(translate(chat.language, "incognito-begun", minutes=minutes), [end])


async def handle_incognito_press(app: Assistant, chat: Chat, data: str) -> None:
    """Ends the conversation; a button of one that is over says so."""
    if data.startswith(f"{_END}:") and data != f"{_END}:{chat.user_id}":
        await chat.send(translate(chat.language, "button-not-yours"))
    elif data != f"{_END}:{chat.user_id}" or app.privacy.mode(chat.user_id) != "incognito":
        await chat.send(translate(chat.language, "button-stale"))
    else:
        await _end(app, chat)


async def _end(app: Assistant, chat: Chat) -> None:
    await app.privacy.end_incognito(chat.user_id)
    paused = app.privacy.is_paused(chat.user_id)
    await chat.send(translate(chat.language, "incognito-ended-paused" if paused else "incognito-ended"))
