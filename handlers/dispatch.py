"""The way from what came in to its handler, and the edge where what went wrong ends."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping

from handlers.chat import handle_text_message
from handlers.fact import handle_correction
from handlers.private import handle_private_message
from keepsake.assistant import Assistant, Chat
from keepsake.errors import DatabaseError, KeepsakeError, RowDamaged
from keepsake.llm.account import on_account
from keepsake.locales import pick_language, translate

log = logging.getLogger(__name__)

Handler = Callable[[Assistant, Chat, str], Awaitable[None]]
# `/stats`, `/stats@keepsake_bot`, `/search some words`; `/usr/bin/env` and `/ hm` are text.
_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@\w+)?(?:\s+(.*))?", re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with NUL and lone surrogates, which nothing behind can take, as U+FFFD."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def parse_command(text: str) -> tuple[str, str] | None:
    """Name and the rest of a command, None for any other text."""
    match = _COMMAND.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None


class Dispatcher:
    """Finds the handler of a command, of a press, or of a text."""

    def __init__(self, commands: Mapping[str, Handler], presses: Mapping[str, Handler]) -> None:
        self._commands = commands
        self._presses = presses

    async def receive(self, app: Assistant, chat: Chat, text: str) -> None:
        """Answers one message. Raises only what sending raises."""
        with on_account(app.memory.account(chat.user_id)):
            await self._guarded(chat, self._handle(app, chat, clean(text)))

    async def press(self, app: Assistant, chat: Chat, data: str) -> None:
        """Answers the press of a button. Raises only what sending raises."""
        with on_account(app.memory.account(chat.user_id)):
            await self._guarded(chat, self._handle_press(app, chat, clean(data)))

    async def turn_away(self, app: Assistant, chat: Chat, text: str, hint: str | None) -> None:
        """Answers a person who is not let in with one line, unless `text` is the owner's code.

        Nothing of it reaches memory or the model. `hint` is the language the front end knows of.
        """
        chat.language = pick_language(hint, app.settings.default_language)
        await self._guarded(chat, self._turn_away(app, chat, text))

    async def _handle(self, app: Assistant, chat: Chat, text: str) -> None:
        chat.language = await app.memory.language(chat.user_id) or chat.language
        # What somebody else wrote and the user passed on is never a command.
        own = chat.said.sender is None
        command = parse_command(text) if own else None
        # Whatever is said after "Correct" is the wording, or ends the wait for it.
        wrong = app.awaited.take(chat.user_id, chat.place, app.clock()) if own else None
        if command is None and wrong is not None:
            await handle_correction(app, chat, wrong, text)
        elif command is None and app.privacy.covers(chat.user_id, chat.said.at):
            await handle_private_message(app, chat, text)
        elif command is None:
            await handle_text_message(app, chat, text)
        elif command[0] == "cancel" and wrong is not None:
            await chat.send(translate(chat.language, "correct-dropped"))
        elif command[0] in self._commands:
            await self._commands[command[0]](app, chat, command[1])
        else:
            await chat.send(translate(chat.language, "unknown-command", name=command[0]))

    async def _handle_press(self, app: Assistant, chat: Chat, data: str) -> None:
        chat.language = await app.memory.language(chat.user_id) or chat.language
        app.awaited.take(chat.user_id, chat.place, app.clock())
        prefix, _, rest = data.partition(":")
        if prefix in self._presses:
            await self._presses[prefix](app, chat, rest)
        else:
            await chat.send(translate(chat.language, "button-stale"))

    async def _turn_away(self, app: Assistant, chat: Chat, text: str) -> None:
        command = parse_command(text)
        # A link t.me/<bot>?start=<code> arrives as "/start <code>".
        words = text if command is None else command[1]
        if app.access.claim(chat.user_id, words):
            await app.memory.set_owner(chat.user_id)
            await chat.send(translate(chat.language, "owner-welcome"))
        else:
            key = "stranger-code" if app.access.open_to_claim else "stranger"
            await chat.send(translate(chat.language, key))

    async def _guarded(self, chat: Chat, work: Awaitable[None]) -> None:
        try:
            await work
        except DatabaseError as error:
            log.error("memory cannot be used: %s", error)
            if chat.said.key is not None and not isinstance(error, RowDamaged):
                raise  # the front end keeps it, and has it handled again
            await chat.send(translate(chat.language, "memory-unusable"))
        except Exception as error:  # noqa: BLE001 - the outermost edge: a person sees one line, never a traceback
            log.error("a handler failed: %s", _told(error))
            await chat.send(translate(chat.language, "something-went-wrong"))


def _told(error: Exception) -> str:
    """The error's type and the lines it came through; its text only where it is ours."""
    text = f": {error}" if isinstance(error, KeepsakeError) else ""
    return f"{type(error).__name__}{text}\n{''.join(traceback.format_tb(error.__traceback__))}"
