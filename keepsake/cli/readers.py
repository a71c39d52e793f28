"""Commands that only read: beside a running bot or with none, without its lock and without Chroma."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from keepsake.archive.check import check_archive
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
from keepsake.index.cross_encoder import open_reranker
from keepsake.index.embedder import open_embedder
from keepsake.recall.question import Question
from keepsake.recall.snippet import query_terms
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
async def reading(
    settings: Settings, *, by_meaning: bool = False, reranked: bool = False
) -> AsyncIterator[Engine]:
    """An engine that only reads. `by_meaning`, `reranked`: with these models, where they are configured."""
    require_memory(settings)
    async with AsyncExitStack() as parts:
        embedder = open_embedder(settings.embedding_model) if by_meaning else None
        if embedder is not None:
            parts.push_async_callback(embedder.close)
        reranker = open_reranker(settings.reranker_model) if reranked else None
        if reranker is not None:
            parts.push_async_callback(reranker.close)
            await asyncio.wrap_future(reranker.prepare())  # however long it takes: no chat waits here
        engine = await Engine.open_reader(settings, embedder=embedder, reranker=reranker)
        parts.push_async_callback(engine.close)
        yield engine


async def stats(settings: Settings, user_id: int) -> int:
    """Prints the JSON of `get_memory_stats`."""
    async with reading(settings, by_meaning=True) as engine:
        found = await engine.stats(user_id)
    say_json(found)
    if any(found[name] for name in ("total_sessions", "total_messages", "total_facts")):
        return DONE
    return _nothing_about(user_id)


async def facts(settings: Settings, user_id: int, *, all_statuses: bool, as_json: bool) -> int:
    """Prints a person's facts; with `all_statuses` also those that hold no longer, and what happened to each."""
    async with reading(settings) as engine:
        found = await engine.facts(user_id, all_statuses=all_statuses)
        history = await engine.fact_history(user_id) if all_statuses else []
    if as_json:
        say_json([fact_as_dict(fact, history if all_statuses else None) for fact in found])
    elif found:
        say("\n".join(fact_lines(found, history)))
    return DONE if found else _nothing_about(user_id)


async def context(settings: Settings, user_id: int, query: str) -> int:
    """Prints the very block that the model would be given."""
    async with reading(settings, by_meaning=True, reranked=True) as engine:
        known = any((await engine.storage.counts(user_id)).values())
        block = (await engine.contexts.recall(user_id, query)).block
    say(block)
    return DONE if known else _nothing_about(user_id)


async def search(settings: Settings, user_id: int, query: str, limit: int, *, as_json: bool) -> int:
    """Prints what is recalled about a question, best first."""
    async with reading(settings, by_meaning=True, reranked=True) as engine:
        found = await engine.search(Question(user_id, query, now=engine.clock()), limit, above_floor=True)
    terms = query_terms(query)
    if as_json:
        say_json([found_as_dict(message, score, terms) for message, score in found])
    elif found:
        say("\n".join(found_line(message, score, terms) for message, score in found))
    return DONE if found else _nothing_about(user_id)


async def search_archive(settings: Settings, user_id: int, query: str, limit: int, *, as_json: bool) -> int:
    """Prints what a person's archive holds of a question's words, best first."""
    async with reading(settings) as engine:
        found = await engine.archive.search(user_id, query, limit)
    terms = query_terms(query)
    if as_json:
        say_json([{**found_as_dict(message, score, terms), "archived": True} for message, score in found])
    elif found:
        say("\n".join(f"{found_line(message, score, terms)} (archived)" for message, score in found))
    return DONE if found else _nothing_about(user_id)


async def check(settings: Settings) -> list[Check]:
    """All checks, on a thread."""
    require_memory(settings)
    with_vectors = settings.embedding_model != NO_MODEL

    def run() -> list[Check]:
        checks = verify_folder(settings.database_path, settings.data_dir, with_vectors=with_vectors)
        archive = check_archive(settings) if checks[0].ok else None
        return [*checks, archive] if archive else checks

    return await asyncio.to_thread(run)


async def verify_receipt(settings: Settings, path: Path) -> int:
    """Says whether a receipt, as `erase` prints it, is one of this folder's ledger."""
    try:
        receipt = json.loads(await asyncio.to_thread(path.read_bytes))
    except OSError as error:
        raise SettingError(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError):  # no UTF-8, no JSON, or one bracket in the other without end
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
