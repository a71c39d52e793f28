"""Where lines come from: a pipe or a file, read as they come, or a person at a terminal."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Protocol

from keepsake.terminal.interrupt import interruptible

_CHUNK = 65_536


class Lines(Protocol):
    """One line after the other, None at the end of input."""

    async def next(self) -> str | None: ...


class PipeLines:
    """Lines of a file descriptor. Bytes that are not UTF-8 become U+FFFD; Ctrl-C ends them.

    A thread that would wait in a read at the end of the process must not hold it, hence daemon threads of our
    own and no executor; and `os.read` in place of `sys.stdin`, whose lock such a thread would take along.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""
        self._ended = False

    async def next(self) -> str | None:
        while b"\n" not in self._rest and not self._ended:
            reading = await interruptible(_in_thread(lambda: os.read(self._fd, _CHUNK)))
            if reading.cancelled():
                return None
            self._rest += reading.result()
            self._ended = not reading.result()
        if not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")


class TtyLines:
    """Lines that a person edits. The history of a run stays in RAM, so nothing is left of it on disk."""

    def __init__(self, prompt: Callable[[], str]) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory

        self._prompt = prompt
        self._session: PromptSession[str] = PromptSession(history=InMemoryHistory())

    async def next(self) -> str | None:
        while True:
            try:
                return await self._session.prompt_async(f"{self._prompt()} ")
            except KeyboardInterrupt:
                continue  # Ctrl-C clears the line, as in a shell
            except EOFError:
                return None


async def _in_thread(read: Callable[[], bytes]) -> bytes:
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()

    def deliver(data: bytes) -> None:
        if not result.done():
            result.set_result(data)

    def work() -> None:
        try:
            data = read()
        except OSError:  # a terminal that was hung up: there will be no more
            data = b""
        try:
            loop.call_soon_threadsafe(deliver, data)
        except RuntimeError:  # the loop has ended meanwhile, nobody waits
            return

    threading.Thread(target=work, name="keepsake-stdin", daemon=True).start()
    return await result
