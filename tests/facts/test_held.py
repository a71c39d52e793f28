"""What held when, by the time in the world and the time it was learned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from keepsake.facts.held import Since, held_in, life_of, matching, parse_period
from keepsake.models import Fact, FactChange, FactWhat
from tests.facts.known import fact


def day(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}T12:00:00+00:00")


def known(begin: str, **fields: Any) -> Fact:
    times = {"valid_from": day(begin), "created_at": day(begin), "recorded_from": day(begin)}
    return fact(1, "Lives in Angarsk", 10, **(times | fields))


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2026-2", (2026, 2, 1), (2026, 3, 1)),
        ("2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("2024-02-29", (2024, 2, 29), (2024, 3, 1)),
    ],
)
def test_periods(text: str, begin: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    period = parse_period(text)
    assert period is not None
    assert (period.begin, period.end) == (datetime(*begin, tzinfo=UTC), datetime(*end, tzinfo=UTC))


@pytest.mark.parametrize(
    "text", ["2026-00", "2025-02-29", "9999", "0000", "26", "2026-3-", "2026-03-14-1", ""]
)
def test_what_is_no_period(text: str) -> None:
    assert parse_period(text) is None


@pytest.mark.parametrize(
    ("held", "as_of"),
    [
        (known("2026-02-01"), "then"),
        (known("2026-03-31"), "then"),
        (known("2026-04-01"), None),
        (known("2026-01-01", status="superseded", valid_until=day("2026-02-28")), None),
        (known("2026-01-01", status="superseded", valid_until=day("2026-03-01")), "then"),
        (known("2026-02-01", recorded_from=day("2026-06-01")), "learned_later"),
        # A date that was told is the last day; one that is vital goes on.
        (known("2026-01-01", status="expired", valid_until=datetime(2026, 2, 28, tzinfo=UTC)), None),
        (known("2026-01-01", status="expired", valid_until=datetime(2026, 3, 1, tzinfo=UTC)), "then"),
        (known("2026-01-01", vital=True, valid_until=datetime(2026, 2, 1, tzinfo=UTC)), "then"),
        # Expired since nobody used it: until then it was held true.
        (known("2026-01-01", status="expired", recorded_until=day("2026-03-05")), "then"),
        (known("2026-01-01", status="merged"), None),
        (known("2026-01-01", status="forgotten"), None),
        (
            known(
                "2026-02-01",
                status="superseded",
                valid_until=day("2026-02-01"),
                recorded_until=day("2026-03-02"),
            ),
            "taken_back",
        ),
        (
            known(
                "2026-02-01",
                status="superseded",
                valid_until=day("2026-02-01"),
                recorded_until=day("2026-02-02"),
            ),
            None,
        ),
    ],
)
def test_what_held_in_march(held: Fact, as_of: Since | None) -> None:
    period = parse_period("2026-03")
    assert period is not None
    assert [one.known for one in held_in([held], period)] == ([as_of] if as_of else [])


def test_words_and_categories() -> None:
    boat = (fact(1, "Has a boat"), ("boat", "red"))
    cat = (fact(2, "Has a cat"), ("cat",))
    assert [one.id for one in matching([boat, cat], {"boat", "red"}, None)] == [1]
    assert matching([boat, cat], {"boat", "cat"}, None) == []
    assert matching([boat, cat], set(), None) == []
    assert [one.id for one in matching([boat, cat], {"other"}, "other")] == [1, 2]


def test_a_life_goes_through_all_that_it_took_the_place_of() -> None:
    def change(number: int, what: FactWhat, other: int | None = None) -> FactChange:
        return FactChange(number, what, "hand", other, "old", "new", day("2026-03-01"), day("2026-03-01"))

    history = [
        change(1, "learned"),
        change(2, "learned"),
        change(1, "superseded", 2),
        change(9, "learned"),
        change(3, "learned"),
        change(2, "corrected", 3),
        change(3, "doubted", 1),
    ]
    assert [one.fact_id for one in life_of(3, history)] == [1, 2, 1, 3, 2, 3]
    assert [one.fact_id for one in life_of(9, history)] == [9]
