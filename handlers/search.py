"""/search: what memory holds about something."""

from __future__ import annotations

from collections.abc import Iterable

from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate
from keepsake.models import Message

SHOWN = 5
_SNIPPET = 160


async def handle_search(app: Assistant, chat: Chat, args: str) -> None:
    """Lists what is found above the floor, best first."""
    if not args:
        await chat.send(translate(chat.language, "search-usage"))
        return
    found = await find(app, chat.user_id, args)
    if not found:
        await chat.send(translate(chat.language, "search-nothing"))
        return
    lines = found_lines(chat.language, found)
    await chat.send("\n".join([translate(chat.language, "search-title"), *lines]))


async def find(app: Assistant, user_id: int, query: str, *, before: int | None = None) -> list[Message]:
    """At most 5 messages about `query`, best first; `before`: only those older than that id.

    The newest too, unlike recall for the context, which leaves out what stands there in STM and LTM.
    """
    return [message for message, _ in await app.memory.find(user_id, query, SHOWN, before=before)]


def found_lines(language: str, messages: Iterable[Message]) -> list[str]:
    """One line a message: its date, who said it, and its beginning."""
    return [
        translate(
            language,
            "found-line",
            date=message.created_at.date().isoformat(),
            who=message.sender or translate(language, "you" if message.role == "user" else "assistant"),
            snippet=snippet(message.content),
        )
        for message in messages
    ]


def snippet(content: str, length: int = _SNIPPET) -> str:
    """The beginning of a text on one line, cut at a word where there is one in the second half."""
    line = " ".join(content.split())
    if len(line) <= length:
        return line
    cut = line[:length]
    space = cut.rfind(" ", length // 2)
    return f"{cut[:space] if space > 0 else cut}…"
