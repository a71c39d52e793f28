"""One daemon thread that runs blocking calls for the event loop, the urgent ones first."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

URGENT = 0  # somebody waits for it
BACKGROUND = 1

_STOP_ORDER = 2  # a stop comes after all work that was handed in before it
_Item = tuple[int, int, Callable[[], None] | None]


class OwnThread:
    """Runs every call on one thread of its own, in order of priority, then of arrival.

    The thread starts with the first call and is a daemon: a program that never stops it can still end. It
    knows no event loop, so it serves one loop after another; await a call with `asyncio.wrap_future`. A call
    whose future is cancelled before its turn is skipped. `on_idle` runs on the thread after `idle_seconds`
    without a call.
    """

    def __init__(
        self, name: str, *, idle_seconds: float | None = None, on_idle: Callable[[], None] | None = None
    ) -> None:
        self._name = name
        self._idle_seconds = idle_seconds
        self._on_idle = on_idle
        self._queue: queue.PriorityQueue[_Item] = queue.PriorityQueue()
        self._order = itertools.count()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], T], priority: int = URGENT) -> Future[T]:
        """Hands a call to the thread and returns at once."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - the caller's, who waits on the future
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            self._queue.put((priority, next(self._order), run))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, args=(self._queue,), name=self._name, daemon=True
                )
                self._thread.start()
        return future

    def stop(self) -> Future[None]:
        """Ends the thread after the work that waits; the next `submit` starts another."""
        done: Future[None] = Future()
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None:
                done.set_result(None)
            else:
                self._queue.put((_STOP_ORDER, next(self._order), lambda: done.set_result(None)))
                self._queue.put((_STOP_ORDER, next(self._order), None))
                self._queue = queue.PriorityQueue()
        return done

    def _work(self, calls: queue.PriorityQueue[_Item]) -> None:
        idle = False
        while True:
            try:
                run = calls.get(timeout=None if idle else self._idle_seconds)[2]
            except queue.Empty:
                idle = True
                if self._on_idle is not None:
                    self._on_idle()
                continue
            if run is None:
                return
            idle = False
            run()
