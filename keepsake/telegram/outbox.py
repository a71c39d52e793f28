"""The durable outbox: what is sent is written down before and after, so that a kill or a lost answer doubles nothing.

Letters are put in whole before the first of them is sent; `deliver` sends what is not settled yet.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Message, MessageEntity
from telegram.error import (
    BadRequest,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from keepsake.assistant import Button
from keepsake.clock import Clock, to_micros
from keepsake.models import Message as Remembered
from keepsake.store import outbox
from keepsake.store.database import Database
from keepsake.store.outbox import Address, Letter
from keepsake.telegram.limits import Limits
from keepsake.telegram.polling import seconds
from keepsake.telegram.render import Part

log = logging.getLogger(__name__)

_BACKOFF_SECONDS = 0.5
_BACKOFF_MOST_SECONDS = 30.0
_CHANGED_MAX = 1000


class Outbox:
    """Sends, obeys limits, and remembers how far it got."""

    def __init__(self, database: Database, bot: Bot, limits: Limits, clock: Clock) -> None:
        self._database = database
        self._bot = bot
        self._limits = limits
        self._clock = clock
        self._held: dict[int, dict[str, str]] = {}  # by update: payloads of letters that are not to be kept
        self._flying: set[asyncio.Task[None]] = set()
        # By chat and Telegram's number: a hash of what a message was changed to last.
        self._changed: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._previews: dict[
            int, Part
        ] = {}  # by update: what is shown now, where an answer grows in a message

    async def begin(self) -> None:
        """To be called before anything is handled."""
        await self._database.write(outbox.drop_unsendable)

    async def post(
        self,
        to: Address,
        name: str,
        parts: Sequence[Part],
        buttons: Sequence[Button] = (),
        replaces: int | None = None,
    ) -> None:
        """Puts parts in, as `name` with a number each, and sends them. A name that is there already stays as it is.

        `replaces`: Telegram's number of a message of ours that the first part takes the place of.
        """
        letters = _letters(name, parts, buttons)
        if to.private:
            self._held.setdefault(to.update_id, {}).update(letters)
            letters = [(name, outbox.IN_RAM) for name, _ in letters]

        def put(connection: sqlite3.Connection) -> None:
            outbox.put(connection, to, letters, self._now(), replaces=replaces)

        await self._database.write(put)
        await self.deliver(to.update_id)

    async def answer(self, to: Address, parts: Sequence[Part]) -> None:
        """Sends an answer that is kept nowhere, in the place of its preview."""
        shown = await self._database.read(outbox.preview_of, to.update_id)
        await self.post(to, outbox.ANSWER, parts, replaces=shown)

    def posting(
        self, to: Address, parts: Sequence[Part], buttons: Sequence[Button] = ()
    ) -> Callable[[sqlite3.Connection, Remembered], None]:
        """A step that puts an answer in, for the transaction that keeps it in memory."""
        letters = _letters(outbox.ANSWER, parts, buttons)

        def put(connection: sqlite3.Connection, message: Remembered) -> None:
            outbox.put(connection, to, letters, self._now(), message_id=message.id)

        return put

    async def is_answered(self, update_id: int) -> bool:
        """Does an answer to this update stand here, sent or not?"""
        return await self._database.read(outbox.is_answered, update_id)

    async def preview(self, to: Address, part: Part) -> int | None:
        """Telegram's number of the message in which the answer grows; it is sent where it was not yet."""
        await self.post(to, outbox.PREVIEW, [part])
        self._previews[to.update_id] = part
        return await self._database.read(outbox.preview_of, to.update_id)

    async def change_preview(self, to: Address, number: int, part: Part) -> None:
        """Shows more of the answer. Raises TelegramError; nothing is tried twice."""
        await self._limits.turn(to.chat_id)
        try:
            await self._bot.edit_message_text(part.text, to.chat_id, number, entities=part.entities or None)
        finally:
            self._limits.done(to.chat_id)
        self._previews[to.update_id] = part

    async def deliver(self, update_id: int) -> None:
        """Sends the update's letters that are not settled, in their order."""
        try:
            await self._deliver(update_id)
        except asyncio.CancelledError:
            self._held.pop(update_id, None)
            raise
        self._held.pop(update_id, None)

    async def _deliver(self, update_id: int) -> None:
        held = self._held.get(update_id, {})
        for letter in await self._database.read(outbox.to_send, update_id):
            if letter.payload != outbox.IN_RAM:
                await self._settle(letter)
            elif letter.name in held:
                await self._settle(replace(letter, payload=held[letter.name]))
            else:
                await self._mark(letter, "lost")
            if letter.name != outbox.PREVIEW:
                self._previews.pop(update_id, None)

    def forget_preview(self, update_id: int) -> None:
        """Drops what RAM still holds of an answer that never came."""
        self._previews.pop(update_id, None)

    async def close(self) -> None:
        """Waits for calls in flight, to know how they ended. The library's timeouts bound them."""
        while self._flying:
            await asyncio.wait(self._flying)

    async def _settle(self, letter: Letter) -> None:
        wait = _BACKOFF_SECONDS
        while True:
            await self._limits.turn(letter.chat_id)
            # A call that has begun is seen to its end, also where this task is cancelled.
            call = asyncio.create_task(self._try(letter), name="send")
            self._flying.add(call)
            call.add_done_callback(self._flying.discard)
            try:
                await asyncio.shield(call)
            except RetryAfter as error:
                self._limits.pause(letter.chat_id, seconds(error.retry_after))
            except (NetworkError, InvalidToken) as error:
                log.warning("no way to Telegram (%s), next try in %g s", type(error).__name__, wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, _BACKOFF_MOST_SECONDS)
            else:
                return

    async def _try(self, letter: Letter) -> None:
        """One try. Raises RetryAfter, InvalidToken or NetworkError where it surely did not arrive."""
        try:
            if not await self._mark(letter, "sending"):
                return  # the person was erased while it waited
            telegram_id = await self._send(letter)
        except (RetryAfter, InvalidToken):
            await self._mark(letter, "waiting")
            raise
        except (BadRequest, Forbidden) as error:
            log.warning("a message was refused: %s", _told(error))
            await self._mark(letter, "refused")
        except NetworkError as error:
            if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
                await self._mark(letter, "waiting")
                raise
            log.warning("a message may be lost (%s); it is not sent twice", type(error).__name__)
            await self._mark(letter, "lost")
        except TelegramError as error:
            log.warning("a message was refused: %s", type(error).__name__)
            await self._mark(letter, "refused")
        else:
            await self._mark(letter, "sent", telegram_id)
        finally:
            self._limits.done(letter.chat_id)

    async def _send(self, letter: Letter) -> int:
        what = json.loads(letter.payload)
        if letter.telegram_id is not None:
            shown = self._previews.get(letter.update_id)
            if shown is not None and _body(shown) == (what["text"], what["entities"]):
                return letter.telegram_id  # to change nothing is an error to Telegram
            place, look = (letter.chat_id, letter.telegram_id), hash(letter.payload)
            if self._changed.get(place) == look:
                return letter.telegram_id  # a button that was pressed twice
            try:
                number = await self._plain_if_refused(what, _edit(self._bot, letter, letter.telegram_id))
                self._note_change(place, look)
                return number
            except BadRequest as error:
                if "not modified" in error.message:
                    return letter.telegram_id
                log.info("a message could not be changed (%s): the new one is sent anew", _told(error))
        return await self._plain_if_refused(what, _new(self._bot, letter))

    def _note_change(self, place: tuple[int, int], look: int) -> None:
        self._changed.pop(place, None)
        self._changed[place] = look
        while len(self._changed) > _CHANGED_MAX:
            self._changed.popitem(last=False)

    async def _plain_if_refused(self, what: dict[str, Any], call: _Call) -> int:
        try:
            return await call(what)
        except BadRequest as error:
            if not what["entities"] or "entit" not in error.message.lower():
                raise
            return await call({**what, "entities": []})

    async def _mark(self, letter: Letter, state: outbox.State, telegram_id: int | None = None) -> bool:
        return await self._database.write(outbox.mark, letter.id, state, telegram_id)

    def _now(self) -> int:
        return to_micros(self._clock())


_Call = Callable[[dict[str, Any]], Awaitable[int]]


def _new(bot: Bot, letter: Letter) -> _Call:
    async def send(what: dict[str, Any]) -> int:
        message = await bot.send_message(
            letter.chat_id,
            what["text"],
            entities=_entities(what),
            reply_markup=_keyboard(what),
            message_thread_id=letter.thread_id,
        )
        return message.message_id

    return send


def _edit(bot: Bot, letter: Letter, telegram_id: int) -> _Call:
    async def edit(what: dict[str, Any]) -> int:
        message = await bot.edit_message_text(
            what["text"], letter.chat_id, telegram_id, entities=_entities(what), reply_markup=_keyboard(what)
        )
        return message.message_id if isinstance(message, Message) else telegram_id

    return edit


def _letters(name: str, parts: Sequence[Part], buttons: Sequence[Button] = ()) -> list[tuple[str, str]]:
    """Names and payloads; the buttons stand under the last part."""
    letters = []
    for number, part in enumerate(parts):
        text, entities = _body(part)
        what = {
            "text": text,
            "entities": entities,
            "buttons": [[b.label, b.data, b.beside] for b in buttons] if number == len(parts) - 1 else [],
        }
        letters.append(
            (f"{name}:{number}" if name != outbox.PREVIEW else name, json.dumps(what, ensure_ascii=False))
        )
    return letters


def _body(part: Part) -> tuple[str, list[dict[str, Any]]]:
    return part.text, [dict(entity.to_dict()) for entity in part.entities]


def _entities(what: dict[str, Any]) -> list[MessageEntity] | None:
    return [MessageEntity(**entity) for entity in what["entities"]] or None


def _keyboard(what: dict[str, Any]) -> InlineKeyboardMarkup | None:
    rows: list[list[InlineKeyboardButton]] = []
    for label, data, *beside in what["buttons"]:  # letters of older versions do not say where they stand
        row = rows.pop() if any(beside) and rows else []
        rows.append([*row, InlineKeyboardButton(label, callback_data=data)])
    return InlineKeyboardMarkup(rows) if rows else None


def _told(error: TelegramError) -> str:
    """What Telegram says of a refusal: its own words, never the message's."""
    return f"{type(error).__name__}: {error.message}"
