"""An answer as it grows: a draft in private chats, elsewhere a message that is edited.

A preview is a courtesy. What it fails at is not told; the answer itself goes through the outbox.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from telegram import Bot
from telegram.error import (
    BadRequest,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)

from keepsake.store.outbox import Address
from keepsake.telegram.limits import Limits
from keepsake.telegram.outbox import Outbox
from keepsake.telegram.polling import seconds
from keepsake.telegram.render import Part, first_part, last_part

log = logging.getLogger(__name__)

DRAFT_SECONDS = 1.0
EDIT_SECONDS = 1.5
# Telegram shows a draft for 30 seconds.
_DRAFT_SHOWN_SECONDS = 20.0
_ABOUT_FORMATS = re.compile("entit|parse|url", re.IGNORECASE)


class Preview:
    """What has come of an answer so far."""

    def __init__(self) -> None:
        self.text = ""
        self.number: int | None = None  # Telegram's, of the message that is edited


class Previews:
    """Shows answers as they grow, by drafts where the server knows them."""

    def __init__(self, bot: Bot, limits: Limits, mail: Outbox) -> None:
        self._bot = bot
        self._limits = limits
        self._mail = mail
        self._drafts = True

    @asynccontextmanager
    async def of(self, to: Address) -> AsyncIterator[Preview]:
        """A preview whose text may grow, shown for as long as the context lasts."""
        preview, ended = Preview(), asyncio.Event()
        task = asyncio.create_task(self._keep_showing(to, preview, ended), name="preview")
        try:
            yield preview
        finally:
            ended.set()  # not cancelled: what is being sent is what the answer will take the place of
            await task

    async def _keep_showing(self, to: Address, preview: Preview, ended: asyncio.Event) -> None:
        shown, shown_at, drafts = "", 0.0, to.chat_id > 0
        while True:
            by_draft = drafts and self._drafts
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAFT_SECONDS if by_draft else EDIT_SECONDS):
                    await ended.wait()
            if ended.is_set():
                return
            old = by_draft and time.monotonic() - shown_at > _DRAFT_SHOWN_SECONDS
            text = preview.text
            if not text.strip() or (text == shown and not old) or self._limits.is_paused(to.chat_id):
                continue
            try:
                await (self._draft(to, text) if by_draft else self._edit(to, preview, text))
            except RetryAfter as error:
                self._limits.pause(to.chat_id, seconds(error.retry_after))
            except Forbidden:
                return  # they do not want to hear us any more
            except TelegramError as error:
                log.info("a preview was not shown: %s", type(error).__name__)
                if isinstance(error, BadRequest):
                    drafts = False
                elif by_draft and isinstance(error, InvalidToken | EndPointNotFound):
                    self._drafts = False  # a server that does not know the method answers 404
            else:
                shown, shown_at = text, time.monotonic()

    async def _draft(self, to: Address, text: str) -> None:
        part = await asyncio.to_thread(last_part, text)  # of a long answer, where it grows
        if part is None:
            return
        try:
            await self._send_draft(to, part)
        except BadRequest as error:
            if not part.entities or not _ABOUT_FORMATS.search(error.message):
                raise
            await self._send_draft(to, Part(part.text))

    async def _send_draft(self, to: Address, part: Part) -> None:
        await self._bot.send_message_draft(
            to.chat_id,
            to.update_id,
            part.text,
            entities=part.entities or None,
            message_thread_id=to.thread_id,
        )

    async def _edit(self, to: Address, preview: Preview, text: str) -> None:
        part = await asyncio.to_thread(first_part, text)  # of a long answer, what this message will hold
        if part is None:
            return
        if preview.number is None:
            preview.number = await self._mail.preview(to, part)
        else:
            await self._mail.change_preview(to, preview.number, part)
