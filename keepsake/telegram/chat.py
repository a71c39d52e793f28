"""The `Chat` of a private Telegram chat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal

import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Message
from telegram.constants import ChatAction
from telegram.error import BadRequest, NetworkError, RetryAfter, TelegramError

from keepsake.assistant import Button
from keepsake.telegram.polling import seconds
from keepsake.telegram.render import Part, markdown_parts, plain_parts

log = logging.getLogger(__name__)

# Telegram shows "typing…" for five seconds.
_TYPING_SECONDS = 4.0
_TRIES = 4
_BACKOFF_SECONDS = 0.5
# A flood limit longer than this is not waited for: the lane of the chat would stand still.
_LONGEST_WAIT_SECONDS = 60.0


class TelegramChat:
    """One person's private chat. What cannot be delivered is logged, by the error's type alone."""

    kind: Literal["telegram"] = "telegram"

    def __init__(self, bot: Bot, user_id: int, chat_id: int, language: str) -> None:
        self.user_id = user_id
        self.language = language
        self.sender: str | None = None
        self.sender_id: str | None = None
        self._bot = bot
        self._chat_id = chat_id

    async def send(self, text: str, buttons: Sequence[Button] = ()) -> None:
        parts = plain_parts(text)
        for part in parts[:-1]:
            await self._deliver(part)
        for part in parts[-1:]:
            await self._deliver(part, _keyboard(buttons))

    async def note(self, text: str) -> None:
        await self.send(text)

    async def stream(self, pieces: AsyncIterator[str]) -> None:
        """Sends the whole answer once it is there, or as much as came before an error."""
        text = ""
        try:
            async for piece in pieces:
                text += piece
        finally:
            for part in markdown_parts(text) or plain_parts(text):
                await self._deliver(part)

    @asynccontextmanager
    async def typing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._keep_typing(), name="typing")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _keep_typing(self) -> None:
        while True:
            with suppress(TelegramError):
                await self._bot.send_chat_action(self._chat_id, ChatAction.TYPING)
            await asyncio.sleep(_TYPING_SECONDS)

    async def _deliver(self, part: Part, keyboard: InlineKeyboardMarkup | None = None) -> None:
        try:
            try:
                await self._send(part, keyboard)
            except BadRequest:
                if not part.entities:
                    raise
                await self._send(Part(part.text), keyboard)
        except TelegramError as error:
            log.warning("a message was not delivered: %s", type(error).__name__)

    async def _send(self, part: Part, keyboard: InlineKeyboardMarkup | None) -> Message:
        return await _insisting(
            lambda: self._bot.send_message(
                self._chat_id, part.text, entities=part.entities or None, reply_markup=keyboard
            )
        )


async def _insisting(send: Callable[[], Awaitable[Message]]) -> Message:
    """Sends again only where the first attempt surely did not arrive: a flood limit, or no connection."""
    for taken in range(_TRIES):
        try:
            return await send()
        except RetryAfter as error:
            wait = seconds(error.retry_after)
            if taken == _TRIES - 1 or wait > _LONGEST_WAIT_SECONDS:
                raise
        except NetworkError as error:
            unsent = isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)
            if taken == _TRIES - 1 or not unsent:
                raise
            wait = _BACKOFF_SECONDS * 2**taken
        await asyncio.sleep(wait)
    raise AssertionError("the last try returns or raises")


def _keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    rows = [[InlineKeyboardButton(button.label, callback_data=button.data)] for button in buttons]
    return InlineKeyboardMarkup(rows) if rows else None
