"""The command for the cleaning rules: prune."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from keepsake.cli.out import DONE, remark, say, say_json
from keepsake.cli.queue import JobQueue, Wish, Worker, fulfil
from keepsake.cli.readers import require_memory
from keepsake.clock import system_clock
from keepsake.forgetting.cleaning import verdicts
from keepsake.forgetting.service import PRUNE
from keepsake.settings import Settings
from keepsake.store.database import connect_reader

_WHY = {
    "replaced": "another fact has taken its place since {day}",
    "past": "it held until {day}",
    "unused": "unimportant, and not used since {day}",
}


async def prune(settings: Settings, *, dry_run: bool, as_json: bool) -> int:
    """Cleans, and prints what went and why; `dry_run`: what would go."""
    require_memory(settings)
    if dry_run:
        found = await asyncio.to_thread(_would_go, settings)
    else:
        async with Worker(settings) as worker:
            result: Any = await fulfil(worker, JobQueue(settings.database_path), Wish(PRUNE))
        found = result["facts"]
    if as_json:
        say_json(found)
    elif found:
        say("\n".join(_lines(found)))
    else:
        remark("nothing to clean")
    return DONE


def _would_go(settings: Settings) -> list[dict[str, object]]:
    with closing(connect_reader(settings.database_path)) as connection:
        return [one.as_dict() for one in verdicts(connection, settings, now=system_clock())]


def _lines(found: Iterable[dict[str, object]]) -> Iterable[str]:
    for one in found:
        why = _WHY[str(one["rule"])].format(day=str(one["since"])[:10])
        content = "\n  ".join(str(one["content"]).splitlines())
        yield f"{one['id']}. {content} (user {one['user_id']}; {one['action']}: {why})"
