"""The bot's life: connect, listen, stop. And the way of an update to its handler."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import telegram
from telegram import Bot, BotCommand, Message, Update
from telegram.error import TelegramError
from telegram.ext import Application, CallbackQueryHandler, ContextTypes, MessageHandler, filters

from handlers import COMMANDS, press, receive, turn_away
from keepsake.assistant import Assistant
from keepsake.errors import SettingError
from keepsake.locales import pick_language, translate
from keepsake.settings import LANGUAGES, Settings
from keepsake.telegram.chat import TelegramChat
from keepsake.telegram.lanes import Lanes
from keepsake.telegram.polling import insist, poll

log = logging.getLogger(__name__)

# How long answers in work may take after the bot was told to stop; service managers kill after 30–90 s.
_GRACE_SECONDS = 20.0

App = Application[Any, Any, Any, Any, Any, Any]
Context = ContextTypes.DEFAULT_TYPE


async def run_telegram(app: Assistant, *, stop: asyncio.Event | None = None) -> None:
    """Talks to Telegram by polling until SIGTERM or SIGINT, or until `stop` is set where one is given.

    Waits for Telegram where it is down. Raises SettingError for a missing or rejected token. Answers in work
    when it is told to stop are finished, for 20 seconds at most; what they said is kept when this returns.
    """
    # The library warns at every flood limit unless it may give durations as timedeltas, as it will anyway.
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    lanes = Lanes()
    application = build_application(app, lanes)
    async with _stopping(stop) as stopped:
        try:
            await insist(application.initialize, stopped)
            if not stopped.is_set():
                await _listen(app, application, lanes, stopped)
        finally:
            await application.shutdown()
            await application.bot.request.shutdown()  # it is open also where connecting failed
            await app.tasks.wait()


def build_application(app: Assistant, lanes: Lanes) -> App:
    """The library's application with our handlers in it.

    Raises SettingError where there is no token.
    """
    settings = app.settings
    if settings.telegram_bot_token is None:
        raise SettingError("TELEGRAM_BOT_TOKEN is not set: get a token from @BotFather")
    url = settings.telegram_api_url.rstrip("/")
    builder = Application.builder().updater(None).concurrent_updates(lanes)
    builder = builder.token(settings.telegram_bot_token.get_secret_value())
    application = builder.base_url(f"{url}/bot").base_file_url(f"{url}/file/bot").build()
    private = filters.UpdateType.MESSAGE & filters.ChatType.PRIVATE & ~filters.StatusUpdate.ALL
    application.add_handler(MessageHandler(private, _on_message))
    application.add_handler(CallbackQueryHandler(_on_press))
    application.add_error_handler(_on_error)
    application.bot_data["assistant"] = app
    return application


async def _listen(app: Assistant, application: App, lanes: Lanes, stopped: asyncio.Event) -> None:
    bot, language = application.bot, app.settings.default_language
    await insist(bot.delete_webhook, stopped)
    await _set_menu(bot, language)
    app.access.offer_code(lambda code: _tell(translate(language, "operator-code", code=code)))
    await application.start()
    try:
        _tell(translate(language, "operator-running", name=bot.username))
        await poll(bot, application.update_queue.put, stopped)
        _tell(translate(language, "operator-stopping"))
    finally:
        await _finish(application, lanes)


async def _finish(application: App, lanes: Lanes) -> None:
    """Lets everything end that was taken from Telegram, and after the grace cuts it short."""
    stopping = asyncio.create_task(application.stop(), name="stop")
    await asyncio.wait({stopping}, timeout=_GRACE_SECONDS)
    if not stopping.done():
        log.warning("%s updates were cut short by the stop", lanes.cancel())
    await stopping


async def _set_menu(bot: Bot, default: str) -> None:
    """The commands as Telegram's menu shows them, in every language of ours and for everybody else."""
    try:
        for code, language in [(None, default), *((code, code) for code in LANGUAGES)]:
            menu = [BotCommand(name, translate(language, f"command-{name}")) for name in COMMANDS]
            await bot.set_my_commands(menu, language_code=code)
    except TelegramError as error:
        log.warning("the menu of commands was not set: %s", type(error).__name__)


async def _on_message(update: Update, context: Context) -> None:
    app: Assistant = context.bot_data["assistant"]
    message, user = update.message, update.effective_user
    if message is None or user is None:
        return
    chat = TelegramChat(context.bot, user.id, message.chat_id, _language(app.settings, user))
    chat.sender, chat.sender_id = _forwarded_from(message, user)
    if not app.access.allows(user.id):
        await turn_away(app, chat, message.text or "", user.language_code)
    elif message.text is None:
        chat.language = await app.memory.language(user.id) or chat.language
        await chat.send(translate(chat.language, "text-only"))
    else:
        await receive(app, chat, message.text)


async def _on_press(update: Update, context: Context) -> None:
    app: Assistant = context.bot_data["assistant"]
    query, where = update.callback_query, update.effective_chat
    if query is None or where is None or where.type != where.PRIVATE:
        return
    user = query.from_user
    if not app.access.allows(user.id):
        return
    try:
        await query.answer()
    except TelegramError as error:  # an old press cannot be acknowledged any more, but it is still meant
        log.info("a press was not acknowledged: %s", type(error).__name__)
    chat = TelegramChat(context.bot, user.id, where.id, _language(app.settings, user))
    await press(app, chat, query.data or "")


async def _on_error(_update: object, context: Context) -> None:
    log.error("an update was not handled: %s", type(context.error).__name__)


def _language(settings: Settings, user: telegram.User) -> str:
    return pick_language(user.language_code, settings.default_language)


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


@asynccontextmanager
async def _stopping(stop: asyncio.Event | None) -> AsyncIterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set, or the one that is given, and no signals."""
    if stop is not None:
        yield stop
        return
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, event.set)
    try:
        yield event
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _tell(line: str) -> None:
    """Says something to whoever started the bot."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
