"""Logging to standard error, with the token and the keys taken out of every line, tracebacks included."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable
from typing import TextIO
from urllib.parse import quote, urlsplit

from keepsake.settings import Settings

# What a bot's token looks like, for one that does not come from our settings.
_TOKEN = re.compile(r"\d{6,}(?::|%3A)[A-Za-z0-9_-]{30,}")
_HIDDEN = "***"
# A shorter "key" (local servers take any, such as "x") is no secret and stands in ordinary words.
_SHORTEST_SECRET = 4
# Libraries that log requests, SQL parameters or whole updates, so contents, below these levels.
_QUIET = {
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpcore2": logging.WARNING,
    "aiohttp": logging.WARNING,
    "openai": logging.WARNING,
    "aiosqlite": logging.WARNING,
    "chromadb": logging.WARNING,
    "telegram": logging.INFO,
    "telegramify_markdown": logging.ERROR,
    "prompt_toolkit": logging.WARNING,
    "urllib3": logging.WARNING,
}


class MaskingFormatter(logging.Formatter):
    """Formats a record and its traceback, then replaces every secret by `***`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        forms = {form for secret in secrets for form in _forms(secret)}
        self._secrets = sorted(forms, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return _TOKEN.sub(_HIDDEN, text)


def setup_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """All logs go to `stream` (default: standard error) at `LOG_LEVEL`, masked; called once, at the start."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(MaskingFormatter(_secrets(settings)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, root.level))
    logging.captureWarnings(True)


def _secrets(settings: Settings) -> list[str]:
    values = (settings.telegram_bot_token, settings.openai_api_key, settings.fallback_api_key)
    addresses = (settings.openai_base_url, settings.fallback_base_url)
    in_addresses = (urlsplit(address or "").password for address in addresses)
    return [
        *(value.get_secret_value() for value in values if value is not None),
        *(password for password in in_addresses if password),
    ]


def _forms(secret: str) -> Iterable[str]:
    parts = (secret, secret.partition(":")[2])
    found = (form for part in parts for form in (part, quote(part, safe=""), repr(part)[1:-1]))
    return [form for form in found if len(form) >= _SHORTEST_SECRET]
