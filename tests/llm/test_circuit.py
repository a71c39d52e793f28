"""When a failing endpoint is left alone. The clock is a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.errors import ModelAnswerInvalid, ModelUnavailable
from keepsake.llm.breaker import Breaker
from keepsake.llm.circuit import LONGEST_REST, Circuit
from keepsake.llm.failures import Resting

NEW = Circuit(most=3, rest=30)


def failing(times: int, at: float = 0, circuit: Circuit = NEW) -> Circuit:
    for _ in range(times):
        circuit = circuit.failed(at)
    return circuit


def test_it_opens_after_so_many_failures_in_a_row() -> None:
    assert failing(2).state(0) == "closed"
    assert failing(3).state(0) == "open"
    assert not failing(3).admits(29.9)
    assert failing(3).waits(10) == 20
    assert failing(2, circuit=failing(2).succeeded()).state(0) == "closed"


def test_after_the_rest_one_request_finds_out() -> None:
    half_open = failing(3)
    assert half_open.state(30) == "half-open"
    assert half_open.admits(30)
    out = half_open.begun(30)
    assert not out.admits(31)
    assert out.given_up().admits(31)
    assert out.succeeded() == NEW
    assert out.failed(40).waits(40) == 60


def test_the_rest_grows_to_a_bound() -> None:
    circuit, now, rests = failing(3), 30.0, []
    for _ in range(8):
        circuit = circuit.begun(now).failed(now)
        rests.append(circuit.waits(now))
        now += rests[-1]
    assert rests == [60, 120, 240, 300, 300, 300, 300, 300]


def test_what_began_before_it_opened_changes_nothing_by_failing_and_closes_it_by_succeeding() -> None:
    late = failing(3)
    assert late.failed(10) == late
    assert late.succeeded().admits(10)


def test_an_endpoint_that_asks_to_wait_is_left_alone_so_long_and_no_longer() -> None:
    asked = NEW.failed(0, asked_wait=5)
    assert (asked.admits(4.9), asked.admits(5)) == (False, True)
    assert failing(2).failed(0, asked_wait=100).waits(0) == 100
    assert failing(2).failed(0, asked_wait=1).waits(0) == 30


@given(st.lists(st.tuples(st.sampled_from(["ask", "fail", "succeed", "give up"]), st.floats(0, 100))))
def test_it_never_stays_shut(steps: list[tuple[str, float]]) -> None:
    circuit, now, out = NEW, 0.0, 0
    for step, seconds in steps:
        now += seconds
        match step:
            case "ask" if circuit.admits(now):
                circuit, out = circuit.begun(now), out + 1
            case "fail" if out:
                circuit, out = circuit.failed(now), out - 1
            case "succeed" if out:
                circuit, out = circuit.succeeded(), out - 1
            case "give up" if out:
                circuit, out = circuit.given_up(), out - 1
        assert circuit.waits(now) <= circuit.rest * LONGEST_REST
    for _ in range(out):
        circuit = circuit.given_up()
    assert circuit.admits(now + circuit.waits(now))


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fail(breaker: Breaker, error: Exception) -> None:
    with pytest.raises(type(error)), breaker.request():
        raise error


def test_the_breaker_tells_once_when_the_endpoint_is_back() -> None:
    clock, back = Hand(), []
    breaker = Breaker(Circuit(2, 30), clock)
    breaker.when_back(lambda: back.append(clock.now))
    for _ in range(2):
        fail(breaker, ModelUnavailable("down"))
    with pytest.raises(Resting) as resting, breaker.request():
        raise AssertionError("nothing is sent")
    assert resting.value.retry
    assert resting.value.retry_after == 30
    clock.now = 30
    with breaker.request() as only_once:
        assert only_once
    with breaker.request() as only_once:
        assert not only_once
    assert back == [30]


@pytest.mark.parametrize("error", [ModelUnavailable("wrong key", retry=False), ModelAnswerInvalid("empty")])
def test_an_endpoint_that_answers_is_not_left_alone(error: Exception) -> None:
    breaker = Breaker(Circuit(1, 30), Hand())
    fail(breaker, error)
    assert not breaker.is_open


def test_a_request_that_is_stopped_tells_nothing() -> None:
    clock = Hand()
    breaker = Breaker(Circuit(1, 30), clock)
    fail(breaker, ModelUnavailable("down"))
    clock.now = 31
    fail(breaker, KeyboardInterrupt())  # type: ignore[arg-type]
    with breaker.request() as only_once:
        assert only_once
