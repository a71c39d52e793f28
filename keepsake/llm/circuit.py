"""When to leave a failing endpoint alone: closed, open, half-open. Pure; the clock is passed in.

The circuit breaker of Nygard, Release It! (2007), chapter 5: after a few failures in a row nothing is sent for a
while (open), then one request finds out (half-open); it closes the circuit, or a longer rest begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

State = Literal["closed", "open", "half-open"]

LONGEST_REST = 10  # times the first one
_GROWTH = 2


@dataclass(frozen=True, slots=True)
class Circuit:
    """The state of one endpoint. Times are seconds of any clock that never goes back.

    `most`: failures in a row that open it; `rest`: seconds of the first rest. A request that began before it opened
    may still end after: a success closes it, a failure changes nothing until the rest is over.
    """

    most: int
    rest: float
    failures: int = 0
    open_until: float | None = None
    next_rest: float | None = None
    probing: bool = False

    def state(self, now: float) -> State:
        if self.open_until is None:
            return "closed"
        return "open" if now < self.open_until else "half-open"

    def admits(self, now: float) -> bool:
        """Whether a request may be sent now; half-open it is one at a time."""
        state = self.state(now)
        return state == "closed" or (state == "half-open" and not self.probing)

    def waits(self, now: float) -> float:
        """Seconds until a request may be sent, as far as can be told."""
        return max(self.open_until - now, 0.0) if self.open_until is not None else 0.0

    def begun(self, now: float) -> Circuit:
        """A request that it admits is on its way."""
        return replace(self, probing=self.state(now) == "half-open")

    def given_up(self) -> Circuit:
        """A request ended without telling anything of the endpoint."""
        return replace(self, probing=False)

    def succeeded(self) -> Circuit:
        """The endpoint lives."""
        return Circuit(self.most, self.rest)

    def failed(self, now: float, asked_wait: float | None = None) -> Circuit:
        """A request failed. `asked_wait`: for so many seconds the endpoint wants to be left alone, and is."""
        if self.state(now) == "open":
            return self
        failures = self.failures + 1
        if failures < self.most:
            until = now + asked_wait if asked_wait is not None else None
            return replace(self, failures=failures, open_until=until, probing=False)
        rest = self.rest if self.next_rest is None else self.next_rest
        return replace(
            self,
            failures=failures,
            open_until=now + max(rest, asked_wait or 0.0),
            next_rest=min(rest * _GROWTH, self.rest * LONGEST_REST),
            probing=False,
        )
