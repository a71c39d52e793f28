from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot_models.awaited import PATIENCE, Awaited

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_wish_is_taken_once_in_its_chat_and_time() -> None:
    awaited = Awaited()
    awaited.expect(7, "here", 1, NOW)
    awaited.expect(7, "here", 2, NOW)
    assert awaited.take(8, "here", NOW) is None
    assert awaited.take(7, "there", NOW) is None
    assert awaited.take(7, "here", NOW + PATIENCE) == 2
    assert awaited.take(7, "here", NOW) is None
    awaited.expect(7, "here", 3, NOW)
    assert awaited.take(7, "here", NOW + PATIENCE + timedelta(seconds=1)) is None


def test_wishes_are_bounded_and_forgotten() -> None:
    awaited = Awaited(most=2)
    for user in (7, 8, 9):
        awaited.expect(user, "here", user, NOW)
    assert awaited.take(7, "here", NOW) is None
    awaited.forget(8)
    assert awaited.take(8, "here", NOW) is None
    assert awaited.take(9, "here", NOW) == 9
