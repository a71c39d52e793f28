"""The chat in a terminal or a pipe, over the same handlers as Telegram."""

from keepsake.terminal.loop import run_terminal

__all__ = ["run_terminal"]
