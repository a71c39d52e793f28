"""The `Chat` of a terminal: the conversation to one stream, notes to the other."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Literal, TextIO

from keepsake.assistant import Button, Said

# A model's answer must not be able to steer the terminal: all control characters but these are dropped.
_KEPT = "\n\t"
_CONTROL = {code: None for code in [*range(32), *range(127, 160)] if chr(code) not in _KEPT}


class TerminalChat:
    """One person at a terminal or behind a pipe. `closed`: nobody reads the output any more."""

    kind: Literal["terminal"] = "terminal"
    place = "terminal"
    receipt_to: dict[str, object] | None = None  # it is waited for

    def __init__(self, user_id: int, language: str, out: TextIO, notes: TextIO) -> None:
        self.user_id = user_id
        self.language = language
        self.said = Said()
        self._out = out
        self._notes = notes
        self._buttons: Sequence[Button] = ()
        self._below: Sequence[Button] = ()  # of an answer that is shown already
        self.closed = False

    async def send(
        self,
        text: str,
        buttons: Sequence[Button] = (),
        *,
        bold: Sequence[tuple[int, int]] = (),  # noqa: ARG002 - a pipe has plain text only
        in_place: bool = False,  # noqa: ARG002 - what was printed stays
    ) -> None:
        self._write("\n".join([text.rstrip("\n"), *_labels(buttons)]) + "\n")
        if buttons:
            self._buttons = buttons

    async def note(self, text: str) -> None:
        self._notes.write(f"{printable(text)}\n")
        self._notes.flush()

    async def stream(self, pieces: AsyncIterator[str]) -> None:
        last = "\n"
        try:
            async for piece in pieces:
                self._write(piece)
                last = piece or last
        finally:
            if not last.endswith("\n"):
                self._write("\n")

    def posting(self, text: str, buttons: Sequence[Button] = ()) -> None:  # noqa: ARG002
        """The text was shown as it came."""
        self._below = buttons

    async def deliver(self) -> None:
        if self._below:
            self._write("".join(f"{label}\n" for label in _labels(self._below)))
            self._buttons, self._below = self._below, ()

    async def answer(self, text: str) -> None:
        """Nothing: it was shown as it came."""

    def typing(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def pressed(self, line: str) -> str | None:
        """The data of the button that a line with only its number presses, None for any other line."""
        number = line.strip()
        if (
            number.isascii()
            and number.isdigit()
            and len(number) < 5
            and 1 <= int(number) <= len(self._buttons)
        ):
            return self._buttons[int(number) - 1].data
        return None

    def drop_buttons(self) -> None:
        """From here on a number is a number."""
        self._buttons = ()

    def _write(self, text: str) -> None:
        if self.closed:
            return
        try:
            self._out.write(printable(text))
            self._out.flush()
        except OSError:  # a closed pipe, a full disk: nobody reads on
            self.closed = True
            _send_nowhere(self._out)


def _labels(buttons: Sequence[Button]) -> list[str]:
    return [f"[{number}] {button.label}" for number, button in enumerate(buttons, 1)]


def _send_nowhere(stream: TextIO) -> None:
    """Python flushes once more when it ends, and would complain of the closed pipe again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def printable(text: str) -> str:
    """The text without control characters but for line feeds and tabs."""
    return text.translate(_CONTROL)
