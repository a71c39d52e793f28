"""Ctrl-C as "stop what you are doing" in place of "end the program"."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def interruptible(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Runs `work` to its end, or until Ctrl-C cancels it: the task that comes back says which.

    Only for the main thread, where Python handles signals.
    """
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await asyncio.wait({task})
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        task.cancel()
    return task
