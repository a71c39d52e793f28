"""Commands that only read: beside a running bot or with none, without its lock and without Chroma."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from keepsake.cli.out import (
    DONE,
    SOMETHING_OFF,
    fact_as_dict,
    fact_lines,
    found_as_dict,
    found_line,
    remark,
    say,
    say_json,
)
from keepsake.engine import Engine
from keepsake.errors import KeepsakeError, SettingError
from keepsake.forgetting.ledger import Ledger
from keepsake.index.embedder import open_embedder
from keepsake.recall.question import Question
from keepsake.settings import Settings
from keepsake.verify import Check, verify_folder

NO_MODEL = "none"


class NothingKeptError(KeepsakeError):
    """The data folder holds no memory yet."""


def require_memory(settings: Settings) -> None:
    """Raises NothingKeptError where there is no memory.db to look into."""
    if not settings.database_path.exists():
        raise NothingKeptError(
            f"nothing is kept in {settings.data_dir} yet: it begins when the bot first runs"
        )


@asynccontextmanager
async def reading(settings: Settings, *, by_meaning: bool = False) -> AsyncIterator[Engine]:
    """An engine that only reads. `by_meaning`: with the embedding model, where one is configured."""
    require_memory(settings)
    embedder = open_embedder(settings.embedding_model) if by_meaning else None
    try:
        engine = await Engine.open_reader(settings, embedder=embedder)
        try:
            yield engine
        finally:
            await engine.close()
    finally:
        if embedder is not None:
            await embedder.close()


async def stats(settings: Settings, user_id: int) -> int:
    """Prints the JSON of `get_memory_stats`."""
    async with reading(settings, by_meaning=True) as engine:
        found = await engine.stats(user_id)
    say_json(found)
    if any(found[name] for name in ("total_sessions", "total_messages", "total_facts")):
        return DONE
    return _nothing_about(user_id)


async def facts(settings: Settings, user_id: int, *, all_statuses: bool, as_json: bool) -> int:
    """Prints a person's facts; only active ones unless `all_statuses`."""
    async with reading(settings) as engine:
        found = await engine.facts(user_id, all_statuses=all_statuses)
    if as_json:
        say_json([fact_as_dict(fact) for fact in found])
    elif found:
        say("\n".join(fact_lines(found)))
    return DONE if found else _nothing_about(user_id)


async def context(settings: Settings, user_id: int, query: str) -> int:
    """Prints the very block that the model would be given."""
    async with reading(settings, by_meaning=True) as engine:
        known = any((await engine.storage.counts(user_id)).values())
        block = (await engine.recall(user_id, query)).block
    say(block)
    return DONE if known else _nothing_about(user_id)


async def search(settings: Settings, user_id: int, query: str, limit: int, *, as_json: bool) -> int:
    """Prints what is recalled about a question, best first."""
    async with reading(settings, by_meaning=True) as engine:
        found = await engine.search(Question(user_id, query), limit, above_floor=True)
        language = await engine.storage.language(user_id) or settings.default_language
    if as_json:
        say_json([found_as_dict(message, score) for message, score in found])
    elif found:
        say("\n".join(found_line(message, score, language) for message, score in found))
    return DONE if found else _nothing_about(user_id)


async def check(settings: Settings) -> list[Check]:
    """All checks, on a thread."""
    require_memory(settings)
    with_vectors = settings.embedding_model != NO_MODEL
    return await asyncio.to_thread(
        verify_folder, settings.database_path, settings.data_dir, with_vectors=with_vectors
    )


async def verify_receipt(settings: Settings, path: Path) -> int:
    """Says whether a receipt, as `erase` prints it, is one of this folder's ledger."""
    try:
        receipt = json.loads(await asyncio.to_thread(path.read_bytes))
    except OSError as error:
        raise SettingError(f"{path} cannot be read ({error.strerror})") from error
    except ValueError:  # no UTF-8, no JSON
        receipt = None
    fault = await asyncio.to_thread(Ledger(settings.data_dir).fault_of, receipt)
    if fault is not None:
        remark(f"not genuine: {fault}")
        return SOMETHING_OFF
    say(f"genuine: erasure no. {receipt['seq']}, {receipt['at']}")
    return DONE


def show_checks(checks: list[Check], *, as_json: bool) -> int:
    """Prints checks; the status says whether all are well."""
    if as_json:
        say_json([item.as_dict() for item in checks])
    else:
        for item in checks:
            mend = f" — {item.mend}" if item.mend and not item.ok else ""
            say(f"{'ok ' if item.ok else 'OFF'} {item.check}: {item.detail}{mend}")
    return DONE if all(item.ok for item in checks) else SOMETHING_OFF


def _nothing_about(user_id: int) -> int:
    remark(f"nothing found for user {user_id}")
    return SOMETHING_OFF
