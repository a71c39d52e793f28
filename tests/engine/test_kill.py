"""SIGKILL while messages are written, indexed and facts are extracted: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepsake.manager import HybridMemoryManager
from keepsake.settings import Settings, load_settings
from keepsake.store.database import connect_reader
from keepsake.verify import verify
from tests.model_server import MODEL, ModelServer

ROOT = Path(__file__).resolve().parents[2]


def _one_life(begin: int, seconds: float) -> list[str]:
    """The lines of acknowledged messages from one process that is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engine.kill_writer", str(begin)],
        cwd=ROOT,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline()]  # it lives
        time.sleep(seconds)
        writer.kill()
        lines += writer.stdout.readlines()
    return [line.rstrip("\n") for line in lines if line.endswith("\n")]


async def _settle(settings: Settings) -> dict[int, dict[str, object]]:
    async with HybridMemoryManager(settings) as memory:
        await memory.flush()
        return {user_id: await memory.get_memory_stats(user_id) for user_id in (1, 2, 3)}


@pytest.fixture
def _endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    server = ModelServer()
    with server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", MODEL)
        yield server


@pytest.mark.usefixtures("_endpoint")
@pytest.mark.parametrize(
    ("rounds", "seed"),
    [(10, 1), pytest.param(100, 2, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])],
)
def test_kills_lose_and_double_nothing(rounds: int, seed: int, data_dir: Path) -> None:
    chance = random.Random(seed)
    acknowledged: list[str] = []
    for _ in range(rounds):
        acknowledged += _one_life(begin=len(acknowledged) * 2, seconds=chance.uniform(0, 0.8))
    settings = load_settings()
    stats = asyncio.run(_settle(settings))
    connection = connect_reader(settings.database_path)
    kept = connection.execute("SELECT user_id || ' ' || id || ' ' || content FROM messages").fetchall()
    doubled = connection.execute(
        "SELECT content FROM facts WHERE status = 'active' GROUP BY user_id, content HAVING count(*) > 1"
    ).fetchall()
    off = [check for check in verify(connection, data_dir) if not check.ok]
    connection.close()
    held = [row[0] for row in kept]
    assert len(acknowledged) > rounds
    assert set(acknowledged) <= set(held)
    # A kill may come between the commit and its line: at most one such message a life.
    assert len(held) - len(acknowledged) <= rounds
    assert doubled == []
    assert off == []
    for counts in stats.values():
        assert counts["vector_documents"] == int(str(counts["total_messages"])) + int(
            str(counts["total_facts"])
        )
        assert int(str(counts["total_facts"])) > 0
