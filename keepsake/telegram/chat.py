"""The `Chat` of a private Telegram chat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal

from telegram import Bot
from telegram.constants import ChatAction
from telegram.error import TelegramError

from keepsake.assistant import AnswerStopped, Button, Said
from keepsake.store import outbox
from keepsake.store.outbox import Address
from keepsake.store.storage import Also
from keepsake.telegram.limits import Limits
from keepsake.telegram.outbox import Outbox
from keepsake.telegram.preview import Previews
from keepsake.telegram.render import Part, markdown_parts, plain_parts

log = logging.getLogger(__name__)

# Telegram shows "typing…" for five seconds. It is shown only once an answer is not there soon: where many write at
# once, what brings their messages to the model goes first.
_TYPING_AFTER_SECONDS = 0.3
_TYPING_SECONDS = 4.0


class TelegramChat:
    """One person's private chat, while one update is handled. All it says goes through the outbox."""

    kind: Literal["telegram"] = "telegram"

    def __init__(
        self, bot: Bot, limits: Limits, mail: Outbox, previews: Previews, to: Address, language: str
    ) -> None:
        self.user_id = to.user_id
        self.language = language
        self.said = Said()
        self._bot = bot
        self._limits = limits
        self._mail = mail
        self._previews = previews
        self._to = to
        self.thread_id = to.thread_id
        self._said = {outbox.REPLY: 0, outbox.NOTE: 0}
        self._answering: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.was_stopped = False
        self.pressed: int | None = None  # Telegram's number of the message whose button was pressed

    @property
    def place(self) -> str:
        return f"{self._to.chat_id}:{self._to.thread_id or 0}"

    @property
    def receipt_to(self) -> dict[str, object]:
        return {
            "chat_id": self._to.chat_id,
            "thread_id": self._to.thread_id,
            "language": self.language,
        }

    async def send(
        self,
        text: str,
        buttons: Sequence[Button] = (),
        *,
        bold: Sequence[tuple[int, int]] = (),
        in_place: bool = False,
    ) -> None:
        parts = plain_parts(text, bold)
        await self._say(outbox.REPLY, parts, buttons, self.pressed if in_place else None)

    async def note(self, text: str) -> None:
        await self._say(outbox.NOTE, plain_parts(text))

    async def _say(
        self, kind: str, parts: Sequence[Part], buttons: Sequence[Button] = (), replaces: int | None = None
    ) -> None:
        number = self._said[kind]
        self._said[kind] += 1
        await self._mail.post(self._to, f"{kind}{number}", parts, buttons, replaces)

    async def stream(self, pieces: AsyncIterator[str]) -> None:
        if self._stop.is_set():
            self.was_stopped = True
            raise AnswerStopped
        self._answering = asyncio.create_task(self._show(pieces), name="answer")
        try:
            await self._answering
        except asyncio.CancelledError:
            if not self._stop.is_set():
                raise
            self.was_stopped = True
            raise AnswerStopped from None
        finally:
            self._answering.cancel()
            self._answering = None

    async def _show(self, pieces: AsyncIterator[str]) -> None:
        async with self._previews.of(self._to) as preview:
            async for piece in pieces:
                preview.text += piece

    def stop_answer(self) -> None:
        """The answer ends with what has come of it, unless it is whole already."""
        self._stop.set()
        if self._answering is not None:
            self._answering.cancel()

    def posting(self, text: str, buttons: Sequence[Button] = ()) -> Also:
        return self._mail.posting(self._to, answer_parts(text), buttons)

    async def answer(self, text: str) -> None:
        await self._mail.answer(self._to, answer_parts(text))

    async def deliver(self) -> None:
        await self._mail.deliver(self._to.update_id)

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
        await asyncio.sleep(_TYPING_AFTER_SECONDS)
        while True:
            if not self._limits.is_paused(self._to.chat_id):
                with suppress(TelegramError):
                    await self._bot.send_chat_action(
                        self._to.chat_id, ChatAction.TYPING, message_thread_id=self._to.thread_id
                    )
            await asyncio.sleep(_TYPING_SECONDS)


def answer_parts(text: str) -> list[Part]:
    """The messages for an answer in Markdown; as it stands where Markdown shows nothing of it."""
    return markdown_parts(text) or plain_parts(text)
