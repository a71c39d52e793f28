"""/help: every command with one line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate


def help_handler(commands: Iterable[str]) -> Callable[[Assistant, Chat, str], Awaitable[None]]:
    """The handler that lists `commands`, which may still grow, and /exit in a terminal."""

    async def handle_help(_app: Assistant, chat: Chat, _args: str) -> None:
        names = [*commands, *(["exit"] if chat.kind == "terminal" else [])]
        lines = [translate(chat.language, "help"), *(help_line(chat.language, name) for name in names)]
        await chat.send("\n".join(lines))

    return handle_help


def help_line(language: str, name: str) -> str:
    """One command and what it does."""
    description = translate(language, f"command-{name}")
    return translate(language, "help-line", name=name, description=description)
