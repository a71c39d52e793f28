"""The command line: each command's work is a plain coroutine, typer only reads the arguments."""

from keepsake.cli.app import main

__all__ = ["main"]
