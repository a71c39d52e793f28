"""/cancel: the end of an answer that somebody does not want to wait for."""

from __future__ import annotations

from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate


async def handle_cancel(_app: Assistant, chat: Chat, _args: str) -> None:
    """Says whether an answer was stopped. The front end stops it, since this waits its turn behind the answer."""
    await chat.send(translate(chat.language, "answer-stopped" if chat.said.stopped else "nothing-to-stop"))
