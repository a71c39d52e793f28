"""The Telegram bot, a thin shell over the handlers that the terminal uses too."""

from keepsake.telegram.bot import run_telegram

__all__ = ["run_telegram"]
