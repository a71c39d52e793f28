"""Turns to send, over a clock of the test's own."""

from __future__ import annotations

import pytest

from keepsake.telegram.limits import ALL_MESSAGES, CHAT_SECONDS, GROUP_MESSAGES, Limits


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limits(clock: Clock) -> Limits:
    made = Limits(clock)
    clock.now += CHAT_SECONDS
    return made


def test_just_after_the_start_nobody_is_sent_to(clock: Clock) -> None:
    assert Limits(clock).reserve(5) == CHAT_SECONDS


def send(limits: Limits, chat: int) -> float:
    """Asks for a turn, and uses it at once where there is one."""
    wait = limits.reserve(chat)
    if wait == 0:
        limits.done(chat)
    return wait


def test_a_chat_gets_one_a_second_and_others_do_not_wait_for_it(clock: Clock, limits: Limits) -> None:
    assert send(limits, 5) == 0
    clock.now += 0.25
    assert send(limits, 5) == pytest.approx(0.75)
    assert send(limits, 6) == 0
    clock.now += 0.75
    assert send(limits, 5) == 0


def test_the_second_counts_from_the_end_of_the_call(clock: Clock, limits: Limits) -> None:
    assert limits.reserve(5) == 0
    clock.now += 0.5
    limits.done(5)
    assert send(limits, 5) == pytest.approx(1.0)


def test_a_pause_is_for_its_own_chat(limits: Limits) -> None:
    limits.pause(5, 30)
    assert limits.is_paused(5)
    assert send(limits, 5) == pytest.approx(30)
    assert not limits.is_paused(6)
    assert send(limits, 6) == 0


def test_thirty_a_second_over_all_calls_in_flight_included(clock: Clock, limits: Limits) -> None:
    assert [limits.reserve(chat) for chat in range(1, ALL_MESSAGES + 1)] == [0] * ALL_MESSAGES
    assert limits.reserve(1000) > 0
    clock.now += 5.0
    assert limits.reserve(1000) > 0
    for chat in range(1, ALL_MESSAGES + 1):
        limits.done(chat)
    assert limits.reserve(1000) == pytest.approx(1.0)
    clock.now += 1.0
    assert limits.reserve(1000) == 0


def test_twenty_a_minute_in_a_group(clock: Clock, limits: Limits) -> None:
    for _ in range(GROUP_MESSAGES):
        assert send(limits, -5) == 0
        clock.now += 1.0
    assert send(limits, -5) == pytest.approx(60 - GROUP_MESSAGES)
    assert send(limits, 5) == 0


def test_chats_that_wait_for_nothing_are_forgotten(
    clock: Clock, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepsake.telegram.limits._KEPT_CHATS", 10)
    for chat in range(1, 200):
        send(limits, chat)
        clock.now += 2
    assert len(limits._next) <= 11
