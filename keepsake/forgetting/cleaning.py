"""The cleaning rules over memory.db: what would go, and that it goes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from keepsake.clock import to_micros
from keepsake.facts import settle
from keepsake.forgetting.prune import Limits, Verdict, prune
from keepsake.settings import Settings
from keepsake.store import facts


def verdicts(
    connection: sqlite3.Connection, settings: Settings, *, now: datetime, user_id: int | None = None
) -> list[Verdict]:
    """What would go now, by the settings' numbers, of one person or of all."""
    limits = Limits(
        timedelta(days=settings.prune_replaced_days),
        timedelta(days=settings.prune_unused_days),
        settings.prune_unused_importance,
    )
    if user_id is not None:
        return prune(facts.of_user(connection, user_id, all_statuses=True), limits, now=now)
    return prune(facts.all_facts(connection), limits, now=now)


def clean(
    connection: sqlite3.Connection, settings: Settings, *, now: datetime, user_id: int | None = None
) -> Sequence[Verdict]:
    """Has it go, in the transaction of the caller."""
    found = verdicts(connection, settings, now=now, user_id=user_id)
    for verdict in found:
        if verdict.action == "removed":
            facts.remove(connection, verdict.fact, to_micros(now))
        else:
            settle.end(connection, verdict.fact, now=to_micros(now))
    return found
