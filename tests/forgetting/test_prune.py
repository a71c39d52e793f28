"""The cleaning rules on dated facts, and that what the dry run lists is what goes."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepsake.clock import to_micros
from keepsake.forgetting.prune import Limits, prune
from keepsake.manager import MemoryManager
from keepsake.models import Fact, FactDraft
from keepsake.settings import load_settings
from keepsake.store import facts, history, migrate
from keepsake.store.database import connect_reader, connect_writer
from keepsake.verify import verify
from tests.cli.program import bot

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
LIMITS = Limits(timedelta(days=30), timedelta(days=90), 0.3)
FACT = Fact(
    id=1,
    user_id=7,
    content="Likes tea",
    category="preferences",
    type="preference",
    status="active",
    origin="extracted",
    importance=0.5,
    confidence=0.9,
    vital=False,
    hits=0,
    created_at=NOW - timedelta(days=400),
    updated_at=NOW - timedelta(days=400),
    recorded_from=NOW - timedelta(days=400),
)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def judged(**changes: Any) -> tuple[str, str] | None:
    found = prune([replace(FACT, **changes)], LIMITS, now=NOW)
    return (found[0].rule, found[0].action) if found else None


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, None),
        ({"status": "merged", "recorded_until": ago(30)}, None),
        ({"status": "merged", "recorded_until": ago(30.1)}, ("replaced", "removed")),
        ({"status": "superseded", "recorded_until": ago(31)}, ("replaced", "removed")),
        ({"status": "superseded", "updated_at": ago(31)}, ("replaced", "removed")),
        ({"status": "superseded", "updated_at": ago(29)}, None),
        ({"status": "forgotten", "updated_at": ago(400)}, None),
        ({"status": "expired", "importance": 0.1}, None),
        ({"importance": 0.29}, ("unused", "expired")),
        ({"importance": 0.3}, None),
        ({"importance": 0.1, "last_hit_at": ago(89)}, None),
        ({"importance": 0.1, "last_hit_at": ago(91)}, ("unused", "expired")),
        ({"importance": 0.1, "created_at": ago(89)}, None),
        ({"importance": 0.1, "created_at": NOW + timedelta(days=5)}, None),
        ({"valid_until": datetime(2026, 11, 20, tzinfo=UTC)}, None),
        ({"valid_until": datetime(2026, 11, 19, tzinfo=UTC)}, ("past", "expired")),
        ({"valid_until": datetime(2026, 11, 19, tzinfo=UTC), "importance": 0.1}, ("past", "expired")),
    ],
)
def test_each_rule_at_its_edge(changes: dict[str, Any], verdict: tuple[str, str] | None) -> None:
    assert judged(**changes) == verdict
    assert judged(**changes, vital=True) is None, "an allergy is never pruned"


async def _filled() -> None:
    async with MemoryManager(load_settings()) as memory:
        message = await memory.save_message(7, "user", "I like tea and I am allergic to shrimp")
    old = to_micros(datetime.now(UTC) - timedelta(days=120))
    drafts = [
        FactDraft("Wears a green hat", (message.id,), importance=0.1),
        FactDraft("Lives in Bratsk", (message.id,), importance=0.9),
        FactDraft("Concert", (message.id,), type="event", valid_until=datetime(2020, 1, 1, tzinfo=UTC)),
        FactDraft("Allergic to shrimp", (message.id,), importance=0.1, vital=True),
        FactDraft("Likes tea", (message.id,), importance=0.8),
    ]
    with closing(connect_writer(load_settings().database_path)) as connection:
        for draft in drafts:
            facts.insert(connection, 7, draft, old)
        connection.execute("UPDATE facts SET status = 'superseded' WHERE content = 'Lives in Bratsk'")


def test_what_the_dry_run_lists_is_what_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL", "none")
    asyncio.run(_filled())
    listed = json.loads(bot("prune", "--dry-run", "--json").out)
    assert [(one["content"], one["rule"], one["action"]) for one in listed] == [
        ("Wears a green hat", "unused", "expired"),
        ("Lives in Bratsk", "replaced", "removed"),
        ("Concert", "past", "expired"),
    ]
    spoken = bot("prune", "--dry-run").out
    assert "2. Lives in Bratsk (user 7; removed: another fact has taken its place since" in spoken
    assert json.loads(bot("prune", "--json").out) == listed
    settings = load_settings()
    with closing(connect_reader(settings.database_path)) as connection:
        left = {fact.content: fact.status for fact in facts.of_user(connection, 7, all_statuses=True)}
        assert all(check.ok for check in verify(connection, settings.data_dir, with_vectors=False))
        changes = [(one.fact_id, one.what, one.made_by) for one in history.of_user(connection, 7)]
    assert sorted(changes) == [(1, "expired", "prune"), (3, "expired", "prune")]
    assert left == {
        "Wears a green hat": "expired",
        "Concert": "expired",
        "Allergic to shrimp": "active",
        "Likes tea": "active",
    }
    again = bot("prune")
    assert (again.status, again.out, again.remark) == (0, "", "nothing to clean")


def test_it_cleans_what_an_older_version_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL", "none")
    path = load_settings().database_path
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate.upgrade(connection, migrate.migrations()[:-1])
    cleaned = bot("prune")
    assert (cleaned.status, cleaned.remark) == (0, "nothing to clean")
    with closing(connect_reader(path)) as connection:
        assert migrate.schema_version(connection) == migrate.migrations()[-1].number
