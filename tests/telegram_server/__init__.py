"""A strict Bot API server on 127.0.0.1: real HTTP, Telegram's own limits, and a hand on the other side.

`TelegramServer` runs it inside a test; `python -m tests.telegram_server --port N` alone. `server.state` is what the
server knows and what it can be told to do: who writes, what fails, and in which way.
"""

from tests.telegram_server.server import TelegramServer

__all__ = ["TelegramServer"]
