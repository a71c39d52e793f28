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
from keepsake.errors import FolderHeld
from keepsake.forgetting.cleaning import clean, verdicts
from keepsake.forgetting.service import PRUNE
from keepsake.lock import FolderLock
from keepsake.settings import Settings
from keepsake.store.database import connect_reader, connect_writer, plain_failures, transact

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
        found = await _clean(settings)
    if as_json:
        say_json(found)
    elif found:
        say("\n".join(_lines(found)))
    else:
        remark("nothing to clean")
    return DONE


async def _clean(settings: Settings) -> list[dict[str, object]]:
    """What went. Where no bot runs none is started: it would end what is past its date before it is told of."""
    try:
        return await asyncio.to_thread(_clean_here, settings)
    except FolderHeld:
        async with Worker(settings) as worker:
            result: Any = await fulfil(worker, JobQueue(settings.database_path), Wish(PRUNE))
        facts: list[dict[str, object]] = result["facts"]
        return facts


def _clean_here(settings: Settings) -> list[dict[str, object]]:
    path = settings.database_path
    with FolderLock(settings.data_dir), plain_failures(path), closing(connect_writer(path)) as connection:
        gone = transact(connection, clean, settings, now=system_clock())
    return [one.as_dict() for one in gone]


def _would_go(settings: Settings) -> list[dict[str, object]]:
    with closing(connect_reader(settings.database_path)) as connection:
        return [one.as_dict() for one in verdicts(connection, settings, now=system_clock())]


def _lines(found: Iterable[dict[str, object]]) -> Iterable[str]:
    for one in found:
        why = _WHY[str(one["rule"])].format(day=str(one["since"])[:10])
        content = "\n  ".join(str(one["content"]).splitlines())
        yield f"{one['id']}. {content} (user {one['user_id']}; {one['action']}: {why})"
