"""Spans of local time, as they are counted from a day. Pure.

Times here are naive and of one clock on the wall; whoever asks puts the zone to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple, cast

Grain = Literal["minute", "hour", "day", "week", "month", "season", "year"]
_DAY = timedelta(days=1)
# How wide "n units ago" is: one unit, with n units before now in its middle. In hours.
_WIDTH = {"minute": 0.5, "hour": 1, "day": 24, "week": 7 * 24, "month": 30 * 24, "year": 365 * 24}
_FEW = (2, 5)  # units
_YEARS_BACK = 9  # 29 February has come by then


class Span(NamedTuple):
    """Half-open, naive. `grain`: how finely it was said."""

    start: datetime
    end: datetime
    grain: Grain


def day_of(day: date) -> Span:
    """A day from midnight to midnight."""
    start = datetime(day.year, day.month, day.day)  # noqa: DTZ001
    return Span(start, start + _DAY, "day")


def offset(now: datetime, unit: str, count: int) -> Span:
    """The calendar's day, week (from Monday), month or year that is `count` after now's. May raise OverflowError."""
    today = now.date()
    if unit == "day":
        return day_of(today + count * _DAY)
    if unit == "week":
        monday = day_of(today - today.weekday() * _DAY + 7 * count * _DAY).start
        return Span(monday, monday + 7 * _DAY, "week")
    if unit == "month":
        months = today.year * 12 + today.month - 1 + count
        return month_of(months // 12, months % 12 + 1)
    return year_of(today.year + count)


def month_of(year: int, month: int) -> Span:
    """A month of the calendar. Raises ValueError outside the years 1–9998."""
    return Span(datetime(year, month, 1), datetime(year + month // 12, month % 12 + 1, 1), "month")  # noqa: DTZ001


def year_of(year: int) -> Span:
    """A year of the calendar. Raises ValueError outside the years 1–9998."""
    return Span(datetime(year, 1, 1), datetime(year + 1, 1, 1), "year")  # noqa: DTZ001


def last_month(now: datetime, month: int) -> Span:
    """The last month of this number that has begun."""
    return month_of(now.year if month <= now.month else now.year - 1, month)


def last_day(now: datetime, month: int, day: int) -> Span | None:
    """The last such day that has begun; None where no year has it."""
    return _begun(now, (date_of(now.year - back, month, day) for back in range(_YEARS_BACK)))


def last_day_of_month(now: datetime, day: int) -> Span | None:
    """The last day of this number that has begun, in this month or one before."""
    months = (now.year * 12 + now.month - 1 - back for back in range(3))
    return _begun(now, (date_of(month // 12, month % 12 + 1, day) for month in months))


def last_weekday(now: datetime, weekday: int) -> Span:
    """The last day of this name before today."""
    return day_of(now.date() - ((now.weekday() - weekday - 1) % 7 + 1) * _DAY)


def date_of(year: int, month: int, day: int) -> Span | None:
    """A day of the calendar, or None where there is none."""
    try:
        return day_of(date(year, month, day))
    except (ValueError, OverflowError):
        return None


def _begun(now: datetime, spans: Iterable[Span | None]) -> Span | None:
    return next((span for span in spans if span and span.start <= now), None)


def ago(now: datetime, unit: str, count: int) -> Span:
    """Two weeks ago: a unit's width around that moment; whole days where it is a day. 0 means a few."""
    if unit == "day" and count:
        return offset(now, "day", -count)
    first, last = (count, count) if count else _FEW
    span = Span(_back(now, unit, last + 0.5), _back(now, unit, first - 0.5), _grain(unit))
    return span if unit in ("hour", "minute") else _whole_days(span)


def days_ago(now: datetime) -> Span:
    """The other day: the seven days before today."""
    return Span(offset(now, "day", -7).start, offset(now, "day", 0).start, "day")


def _whole_days(span: Span) -> Span:
    end = day_of(span.end.date())
    return Span(day_of(span.start.date()).start, end.start if end.start == span.end else end.end, span.grain)


def lately(now: datetime, unit: str, count: int) -> Span:
    """The last two weeks: up to now. 0 means a few."""
    return Span(_back(now, unit, count or _FEW[1]), now, _grain(unit))


def before(span: Span, unit: str, count: int) -> Span:
    """The week before 7 May: so much time up to a day."""
    return Span(_back(span.start, unit, count or _FEW[1]), span.start, _grain(unit))


def _back(moment: datetime, unit: str, count: float) -> datetime:
    return moment - timedelta(hours=_WIDTH[unit] * count)


def _grain(unit: str) -> Grain:
    return cast(Grain, unit)


def part_of_day(span: Span, hours: tuple[int, int]) -> Span:
    """Hours of a day, counted from its midnight."""
    return Span(span.start + timedelta(hours=hours[0]), span.start + timedelta(hours=hours[1]), "hour")


def third(span: Span, number: int) -> Span:
    """The early (0), middle (1) or late (2) third, in whole days."""
    width = (span.end - span.start) / 3
    return _whole_days(Span(span.start + number * width, span.start + (number + 1) * width, "day"))


def season(year: int, month: int) -> Span:
    """Three months from this one. Of the north: a clock does not say on which half of the earth it stands."""
    return Span(
        month_of(year, month).start, month_of(year + (month + 2) // 12, (month + 1) % 12 + 1).end, "season"
    )


def weekend(now: datetime, weeks: int) -> Span:
    """Saturday and Sunday of a week at an offset."""
    monday = offset(now, "week", weeks).start
    return Span(monday + 5 * _DAY, monday + 7 * _DAY, "day")
