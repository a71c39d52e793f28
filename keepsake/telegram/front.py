"""The way of an update: inbox, lane, handler, outbox, and out of the inbox again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import telegram
from telegram import Bot, Message, Update
from telegram.error import TelegramError
from telegram.ext import filters

from handlers import press, receive, turn_away
from handlers.dispatch import parse_command
from keepsake.assistant import Assistant, Said
from keepsake.clock import Clock
from keepsake.errors import DatabaseError
from keepsake.forgetting.removal import Replied
from keepsake.locales import pick_language, translate
from keepsake.store.database import Database
from keepsake.store.inbox import Undone
from keepsake.store.outbox import Address
from keepsake.telegram.chat import TelegramChat
from keepsake.telegram.discretion import Discretion
from keepsake.telegram.farewell import Farewells
from keepsake.telegram.inbox import Inbox, number_of
from keepsake.telegram.lanes import Key, Lanes, lane_of
from keepsake.telegram.limits import Limits
from keepsake.telegram.outbox import Outbox
from keepsake.telegram.preview import Previews

log = logging.getLogger(__name__)

Json = dict[str, Any]


class Front:
    """Takes updates in and sees each of them to its end, once."""

    def __init__(self, app: Assistant, bot: Bot, database: Database, clock: Clock) -> None:
        self._app = app
        self._bot = bot
        self._inbox = Inbox(database, clock, Discretion(app.privacy))
        self._limits = Limits()
        self._outbox = Outbox(database, bot, self._limits, clock)
        self._previews = Previews(bot, self._limits, self._outbox)
        self._farewells = Farewells(database, bot, self._limits)
        self._lanes = Lanes(self._work, turns=app.turns)
        self._talking: dict[Key, TelegramChat] = {}
        self._cancels: dict[int, int] = {}  # numbers of each /cancel and of what it is about
        self._unwanted: set[int] = set()  # of what is to be stopped as soon as it is begun
        self._stopped: set[int] = set()  # of what did stop

    @property
    def waiting(self) -> int:
        """Updates that are not done."""
        return self._lanes.waiting

    async def resume(self) -> None:
        """Goes on with what was left undone."""
        await self._inbox.begin(self._bot.id)
        await self._outbox.begin()
        for update in await self._inbox.undone():
            self._lanes.add(update)
        self._farewells.look()

    async def take(self, updates: Sequence[Json]) -> None:
        """Takes updates in; they are durable when this returns."""
        new: dict[int | None, Undone] = {
            update.update_id: update for update in await self._inbox.take(updates)
        }
        for raw in updates:
            update = new.pop(number_of(raw), None)
            if update is not None:
                if _is_cancel(raw):
                    self._stop_answer(update)
                self._lanes.add(update)

    async def stop(self, grace_seconds: float, hurry: asyncio.Event) -> None:
        """Lets end what is worked on, until `hurry` is set; the rest waits in the inbox."""
        if cut_short := await self._lanes.stop(grace_seconds, hurry):
            log.warning(
                "%d answers were cut short by the stop; they are made anew at the next start", cut_short
            )
        await self._farewells.close()
        await self._outbox.close()

    def _stop_answer(self, update: Undone) -> None:
        """/cancel does not wait behind the answer that it is about."""
        lane = lane_of(update)
        target, chat = self._lanes.first(lane), self._talking.get(lane)
        if target is None:
            return
        self._cancels[update.update_id] = target
        if chat is not None:
            chat.stop_answer()
        else:  # it came together with what it is about
            self._unwanted.add(target)

    async def _work(self, update_id: int) -> None:
        raw = await self._inbox.read(update_id)
        if raw is None:
            return
        try:
            await self._see_through(update_id, raw)
        finally:
            self._unwanted.discard(update_id)
            self._outbox.forget_preview(update_id)

    async def _see_through(self, update_id: int, raw: Json) -> None:
        if not await self._outbox.is_answered(update_id):
            try:
                await self._handle(Update.de_json(raw, self._bot))
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not come again for ever
                kind = type(error).__name__
                log.error("update %d cannot be handled and is passed over: %s", update_id, kind)
        await self._outbox.deliver(update_id)
        await self._inbox.finish(update_id)

    async def _handle(self, update: Update) -> None:
        if update.message is not None:
            await self._on_message(update, update.message)
        elif update.edited_message is not None:
            await self._on_edit(update.edited_message)
        elif update.callback_query is not None:
            await self._on_press(update, update.callback_query)

    async def _on_message(self, update: Update, message: Message) -> None:
        user = message.from_user
        if user is None or not _is_private(message) or _is_service(message):
            return
        app, chat = self._app, self._chat(update, message, user)
        text = message.text if message.text is not None else message.caption
        sender, sender_id = _forwarded_from(message, user)
        target = self._cancels.pop(update.update_id, None)
        stopped = target in self._stopped
        self._stopped -= {target}
        chat.said = Said(sender, sender_id, message.date, key_of(message), stopped, _replied(message))
        if update.update_id in self._unwanted:
            chat.stop_answer()
        lane = (message.chat_id, chat.thread_id)
        self._talking[lane] = chat
        try:
            if not app.access.allows(user.id):
                await turn_away(app, chat, message.text or "", user.language_code)
            elif text is None:
                chat.language = await app.memory.language(user.id) or chat.language
                await chat.send(translate(chat.language, "text-only"))
            else:
                await receive(app, chat, text)
        finally:
            del self._talking[lane]
            if chat.was_stopped:
                self._stopped.add(update.update_id)

    async def _on_edit(self, message: Message) -> None:
        """An edit changes what was said; it is not said again, so it runs no command and gets no answer."""
        user = message.from_user
        if user is None or not _is_private(message) or not self._app.access.allows(user.id):
            return
        text = message.text if message.text is not None else message.caption
        if text is not None and text.strip():
            edited = await self._app.memory.edit_message(user.id, key_of(message), text)
            if edited is not None:
                self._app.states.forget(user.id)  # read anew from the store, with the new text

    async def _on_press(self, update: Update, query: telegram.CallbackQuery) -> None:
        message = query.message
        if not isinstance(message, Message) or not _is_private(message):
            return
        if not self._app.access.allows(query.from_user.id):
            return
        try:
            await query.answer()
        except TelegramError as error:  # an old press cannot be acknowledged any more, but it is still meant
            log.info("a press was not acknowledged: %s", type(error).__name__)
        chat = self._chat(update, message, query.from_user)
        chat.pressed = message.message_id
        await press(self._app, chat, query.data or "")
        self._farewells.look()

    def _chat(self, update: Update, message: Message, user: telegram.User) -> TelegramChat:
        thread = message.message_thread_id if message.is_topic_message else None
        private = self._app.privacy.mode(user.id) is not None
        to = Address(update.update_id, user.id, message.chat_id, thread, private)
        language = pick_language(user.language_code, self._app.settings.default_language)
        return TelegramChat(self._bot, self._limits, self._outbox, self._previews, to, language)


def key_of(message: Message) -> str:
    """What memory knows a message of Telegram's by."""
    return f"telegram:{message.get_bot().id}:{message.chat_id}:{message.message_id}"


def _replied(message: Message) -> Replied | None:
    to = message.reply_to_message
    return Replied(key_of(to), to.chat_id, to.message_id) if to is not None else None


def _is_private(message: Message) -> bool:
    return message.chat.type == message.chat.PRIVATE


def _is_service(message: Message) -> bool:
    """Something that Telegram tells ("joined", "pinned"), not a person."""
    return bool(filters.StatusUpdate.ALL.check_update(Update(0, message=message)))


def _is_cancel(raw: Json) -> bool:
    """Is it the command /cancel, said by the person and not passed on?"""
    message = raw.get("message")
    if not isinstance(message, dict) or "forward_origin" in message:
        return False
    text = message.get("text")
    command = parse_command(text) if isinstance(text, str) else None
    return command is not None and command[0] == "cancel"


def _forwarded_from(message: Message, user: telegram.User) -> tuple[str | None, str | None]:
    """Name and id of who wrote a forwarded message, (None, None) for the user's own words."""
    origin = message.forward_origin
    match origin:
        case telegram.MessageOriginUser(sender_user=author) if author.id != user.id:
            return author.full_name, str(author.id)
        case telegram.MessageOriginHiddenUser(sender_user_name=name):
            return name, None
        case telegram.MessageOriginChat(sender_chat=source) | telegram.MessageOriginChannel(chat=source):
            return source.effective_name, str(source.id)
        case _:
            return None, None
