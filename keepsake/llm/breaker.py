"""Keeps the circuit of one endpoint: refuses requests while it rests, and tells when it is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from keepsake.errors import ModelError, ModelUnavailable
from keepsake.llm.circuit import Circuit
from keepsake.llm.failures import Resting

log = logging.getLogger(__name__)

FAILURES = 5
REST_SECONDS = 30.0


class Breaker:
    """The circuit breaker of an endpoint. `now`: seconds of a clock that never goes back."""

    def __init__(self, circuit: Circuit | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.circuit = circuit or Circuit(FAILURES, REST_SECONDS)
        self._now = now
        self._told: list[Callable[[], None]] = []

    def when_back(self, tell: Callable[[], None]) -> None:
        """Has `tell` called, once for each failing spell, when the endpoint answers again."""
        if tell not in self._told:
            self._told.append(tell)

    @property
    def is_open(self) -> bool:
        return self.circuit.state(self._now()) == "open"

    @contextmanager
    def request(self) -> Iterator[bool]:
        """Around a request with its tries; gives whether it is the one that finds out, and is to be sent once.

        Raises Resting where nothing may be sent now.
        """
        now = self._now()
        if not self.circuit.admits(now):
            raise Resting(self.circuit.failures, self.circuit.waits(now))
        self.circuit = self.circuit.begun(now)
        ended = False
        try:
            yield self.circuit.probing
            ended = True
            self.lives()
        except ModelError as error:
            ended = True
            if isinstance(error, ModelUnavailable) and error.retry:
                self.failed(error.retry_after)
            else:  # whatever it says, it answers
                self.lives()
            raise
        finally:
            if not ended:
                self.circuit = self.circuit.given_up()

    def failed(self, asked_wait: float | None = None) -> None:
        """A try failed. `asked_wait`: seconds that the endpoint wants to be left alone from now on."""
        now = self._now()
        was_open = self.circuit.state(now) == "open"
        self.circuit = self.circuit.failed(now, asked_wait)
        if self.circuit.state(now) == "open" and not was_open:
            log.warning("the model's endpoint is left alone for %.0f s", self.circuit.waits(now))

    def lives(self) -> None:
        """The endpoint has said something."""
        was_failing = self.circuit.failures > 0
        self.circuit = self.circuit.succeeded()
        if was_failing:
            log.info("the model's endpoint answers again")
            for tell in self._told:
                tell()
