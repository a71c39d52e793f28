"""The one place that knows what time it is. Everything else is handed a `Clock` or a datetime."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 in UTC, the form in which SQLite keeps a time.

    Raises ValueError for a naive datetime: it does not say which moment it means.
    """
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"a time needs a time zone, got the naive {moment.isoformat()}")
    return (moment - _EPOCH) // _MICROSECOND


def utc_day(moment: datetime) -> date:
    """The day in UTC."""
    return moment.astimezone(UTC).date()


def from_micros(micros: int) -> datetime:
    """The aware UTC datetime of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
