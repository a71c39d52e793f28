"""What a test has asked the server to do wrong, in turn for each method."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from tests.telegram_server.rules import RefusedError


@dataclass(frozen=True)
class Fault:
    """A connection that fails: before the call has any effect, or after it; or an answer that is late."""

    dropped_before: bool = False
    dropped_after: bool = False
    late_seconds: float = 0.0


SOUND = Fault()


class Script:
    """Refusals and faults wait in a queue each: the next call of a method takes one of both."""

    def __init__(self) -> None:
        self._refusals: defaultdict[str, deque[RefusedError]] = defaultdict(deque)
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)

    def refuse(self, method: str, refusal: RefusedError) -> None:
        self._refusals[method].append(refusal)

    def fail(self, method: str, fault: Fault, times: int) -> None:
        self._faults[method].extend([fault] * times)

    def refusal(self, method: str) -> RefusedError | None:
        return self._refusals[method].popleft() if self._refusals[method] else None

    def fault(self, method: str) -> Fault:
        return self._faults[method].popleft() if self._faults[method] else SOUND
