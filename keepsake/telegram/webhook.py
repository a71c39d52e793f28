"""Updates by webhook: a small HTTP server on 127.0.0.1, behind whatever terminates TLS."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from aiohttp import web
from telegram.error import BadRequest, TelegramError

from keepsake.errors import SettingError
from keepsake.settings import Settings
from keepsake.telegram.polling import WANTED, RawBot, insist

log = logging.getLogger(__name__)

PATH = "/telegram"
HOST = "127.0.0.1"
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name
_SHUTDOWN_SECONDS = 2.0  # for deliveries in work: one that is cut short comes again
_LOOK_SECONDS = 60.0
_LARGEST = 1_000_000  # bytes of one update; Telegram's are far smaller


class Taker(Protocol):
    """Where updates go."""

    @property
    def waiting(self) -> int: ...

    async def take(self, updates: list[dict[str, Any]]) -> None: ...


async def listen(
    bot: RawBot, settings: Settings, front: Taker, stopped: asyncio.Event, begun: Callable[[], None]
) -> None:
    """Has Telegram send updates to TELEGRAM_WEBHOOK_URL, and takes them at 127.0.0.1, until `stopped`.

    `begun` is called when both are ready. An update is confirmed, with status 200, when it is durable. Raises
    SettingError where the port is taken.
    """
    secret = secrets.token_urlsafe(32)  # new at each start: Telegram is told it below
    runner = web.AppRunner(_application(front, secret), access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, settings.telegram_webhook_port).start()
    except OSError as error:
        await runner.cleanup()
        raise SettingError(
            f"TELEGRAM_WEBHOOK_PORT {settings.telegram_webhook_port} cannot be listened on "
            f"({error.strerror or error}); take another one"
        ) from None
    try:
        url = f"{str(settings.telegram_webhook_url).rstrip('/')}{PATH}"
        await insist(partial(_announce, bot, url, secret), stopped)
        begun()
        await _watch(bot, stopped)
    finally:
        await runner.cleanup()


async def _watch(bot: RawBot, stopped: asyncio.Event) -> None:
    """Until `stopped`, tells what Telegram says of failed deliveries: nobody else would notice."""
    told = None
    while not stopped.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await stopped.wait()
                return
        with suppress(TelegramError):
            info = await bot.get_webhook_info()
            if info.last_error_date not in (None, told):
                told = info.last_error_date
                log.warning("Telegram cannot reach TELEGRAM_WEBHOOK_URL: %s", info.last_error_message)


async def _announce(bot: RawBot, url: str, secret: str) -> None:
    try:
        await bot.set_webhook(url, secret_token=secret, allowed_updates=WANTED)
    except BadRequest as error:
        raise SettingError(f"TELEGRAM_WEBHOOK_URL is refused by Telegram: {error.message}") from None


def _application(front: Taker, secret: str) -> web.Application:
    async def take(request: web.Request) -> web.Response:
        given = request.headers.get(_SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, secret.encode()):
            return web.Response(status=403)
        try:
            update = json.loads(await request.read())
        except (ValueError, RecursionError):
            return web.Response(status=400)
        if not isinstance(update, dict):
            return web.Response(status=400)
        await front.take([update])
        return web.Response()

    async def health(_request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "waiting": front.waiting})

    application = web.Application(client_max_size=_LARGEST)
    application.router.add_post(PATH, take)
    application.router.add_get("/health", health)
    return application
