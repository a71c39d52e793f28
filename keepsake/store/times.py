"""Times as rows hold them: microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from keepsake.clock import from_micros, to_micros
from keepsake.errors import RowDamaged

LEAST = to_micros(datetime.min.replace(tzinfo=UTC))
MOST = to_micros(datetime.max.replace(tzinfo=UTC))

# What is read as a time, by table.
COLUMNS = {
    "sessions": ("started_at", "last_at", "ended_at"),
    "messages": ("created_at",),
    "facts": (
        "created_at",
        "updated_at",
        "last_hit_at",
        "valid_from",
        "valid_until",
        "recorded_from",
        "recorded_until",
    ),
    "fact_history": ("valid_at", "recorded_at"),
    "summaries": ("said_at", "made_at"),
    "models": ("limited_at",),
}


def time_of(micros: int, table: str, row: int | str) -> datetime:
    """The time that stands in a row. Raises RowDamaged, which names the row, for one that no calendar has."""
    try:
        return from_micros(micros)
    except OverflowError:
        raise RowDamaged(
            f"memory.db is damaged: {table} row {row} has a time that cannot be;"
            " `bot.py verify` names all such rows, restore a backup"
        ) from None
