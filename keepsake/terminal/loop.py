"""The terminal chat: read a line, answer it, read the next."""

from __future__ import annotations

import io
import sys
from functools import partial

from handlers import press, receive
from keepsake.assistant import Assistant
from keepsake.locales import translate
from keepsake.terminal.chat import TerminalChat
from keepsake.terminal.interrupt import interruptible
from keepsake.terminal.lines import Lines, PipeLines, TtyLines

_EXIT = "/exit"


async def run_terminal(app: Assistant, user_id: int) -> None:
    """Talks with `user_id` over standard input and output until it ends or /exit, then does all work left.

    Ctrl-C stops the answer that is being made; where none is, it ends the chat in a pipe and clears the line
    at a terminal. Where nobody reads the output any more the chat ends as well.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    language = await app.memory.language(user_id) or app.settings.default_language
    chat = TerminalChat(user_id, language, sys.stdout, sys.stderr)
    lines: Lines = PipeLines(sys.stdin.fileno())
    if at_terminal:
        await chat.note(translate(chat.language, "terminal-hello"))
        lines = TtyLines(lambda: translate(chat.language, "prompt"))
    await converse(app, chat, lines)
    if at_terminal:
        await chat.note(translate(chat.language, "terminal-bye"))
    await app.finish()


async def converse(app: Assistant, chat: TerminalChat, lines: Lines) -> None:
    """Answers one line after the other. Empty lines are passed over."""
    while not chat.closed and (line := await lines.next()) is not None and line.strip() != _EXIT:
        if line.strip():
            await _answer(app, chat, line)


async def _answer(app: Assistant, chat: TerminalChat, line: str) -> None:
    data = chat.pressed(line)
    if data is not None or not line.lstrip().startswith("/"):
        chat.drop_buttons()
    work = partial(receive, app, chat, line) if data is None else partial(press, app, chat, data)
    task = await interruptible(app.turns.take(chat.user_id, work))
    if task.cancelled():
        await chat.note(translate(chat.language, "answer-stopped"))
    else:
        task.result()
