"""Which messages the extractor is shown, and how. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from keepsake.models import Message, Role
from keepsake.prompt.block import shown_name

# Turns before the cursor that are shown again, so that a pronoun finds its noun.
CONTEXT_TURNS = 2
# Of a longer message the beginning and the end are read. The assistant's words only explain the user's.
READ_CHARACTERS: dict[Role, int] = {"user": 4000, "assistant": 600}
_INDENT = "\n  "
_ELLIPSIS = "…"
_LONGEST_WORD = 64

Count = Callable[[str], int]
"""Tokens of a text."""


def fit_window(
    messages: Sequence[Message], *, cursor: int, most: int, tokens: int, count: Count
) -> list[Message]:
    """The unread messages (ids above `cursor`) that fit, oldest first, led by some that were read before.

    `messages` are in the order they were said. At most `most` messages and `tokens` tokens as rendered; at
    least one unread message, which may be longer than that. The cursor may move to the last one's id.
    """
    read = [message for message in messages if message.id <= cursor]
    unread = [message for message in messages if message.id > cursor]
    room = most - min(CONTEXT_TURNS, len(read), most - 1)
    window: list[Message] = []
    left = tokens
    for message in unread[:room]:
        left -= count(render_line(message) + "\n")
        if window and left < 0:
            break
        window.append(message)
    if not window:
        return []
    for message in reversed(read[-(most - len(window)) :] if most > len(window) else []):
        left -= count(render_line(message) + "\n")
        if left < 0:
            break
        window.insert(0, message)
    return window


def render_window(window: Sequence[Message], *, tokens: int | None = None, count: Count = len) -> str:
    """The window as the extractor reads it: a line each, with id, role and date.

    A line longer than its share of `tokens` is cut; a message of several lines goes on indented, so that no
    text of a message stands where a line begins.
    """
    lines = [render_line(message) for message in window]
    shown = "\n".join(lines)
    if tokens is None or count(shown) <= tokens:
        return shown
    share = max(1, tokens // max(1, len(lines)) - 1)  # one for the line's end
    return "\n".join(_cut(line, share, count) for line in lines)


def render_line(message: Message) -> str:
    """`[812] user, Wed 2026-03-11: text`; where somebody else said it, `user (Name)`."""
    who = f"{message.role} ({shown_name(message.sender)})" if message.sender else message.role
    text = _INDENT.join(read_text(message).splitlines())
    return f"[{message.id}] {who}, {message.created_at:%a %Y-%m-%d}: {text}"


def read_text(message: Message) -> str:
    """The words of a message that facts may come from: all, or the beginning and the end of a long one."""
    text, most = message.content, READ_CHARACTERS[message.role]
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[-most // 2 :]
    # Half a word is another word, and half a number another number.
    head = head[:-_LONGEST_WORD] + re.sub(r"\S+$", "", head[-_LONGEST_WORD:])
    tail = re.sub(r"^\S+", "", tail[:_LONGEST_WORD]) + tail[_LONGEST_WORD:]
    return f"{head} {_ELLIPSIS} {tail}"


def _cut(line: str, tokens: int, count: Count) -> str:
    if count(line) <= tokens:
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(line[:middle] + _ELLIPSIS) <= tokens else (low, middle - 1)
    return line[:low] + _ELLIPSIS
