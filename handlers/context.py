"""/context: the very block that the model would be given."""

from __future__ import annotations

from handlers.chat import restored_state
from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate

_USER_LINE = "User: "


async def handle_context(app: Assistant, chat: Chat, args: str) -> None:
    """Shows the block for the words after the command, without any for the user's last message."""
    query = args or _last_said((await restored_state(app, chat.user_id)).ai_chat_history)
    block = (await app.memory.recall(chat.user_id, query, before=None)).block if query else ""
    await chat.send(block if block.strip() else translate(chat.language, "context-empty"))


def _last_said(lines: list[str]) -> str:
    said = (line.removeprefix(_USER_LINE) for line in reversed(lines) if line.startswith(_USER_LINE))
    return next(said, "")
