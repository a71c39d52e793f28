"""SIGKILL while messages are written, indexed, pruned and facts drawn: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from keepsake.settings import PROJECT_DIR
from tests.engine.kill_driver import USERS
from tests.model_server import MODEL, ModelServer


@pytest.fixture
def _endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", MODEL)
        yield


def lives(rounds: int, seed: int) -> list[dict[str, Any]]:
    """What the driver tells: a line a life, then what is held at the end, then what is wrong with it."""
    driver = subprocess.run(
        [sys.executable, "-m", "tests.engine.kill_driver", str(rounds), str(seed)],
        cwd=PROJECT_DIR,
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )
    assert driver.returncode == 0, driver.stderr
    return [json.loads(line) for line in driver.stdout.splitlines()]


@pytest.mark.usefixtures("_endpoint")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_kills_lose_and_double_nothing(kill_rounds: int, seed: int) -> None:
    *killed, end, last = lives(kill_rounds, seed)
    assert len(killed) == kill_rounds
    assert [line["off"] for line in (*killed, last) if line["off"]] == []
    acknowledged = [message for line in killed for message in line["acknowledged"]]
    held = [f"{user} {id_} {content}" for user, id_, content in end["messages"]]
    assert len(acknowledged) > kill_rounds
    assert set(acknowledged) <= set(held)
    # A kill may come between the commit and its line: at most one such message a life.
    assert len(held) - len(acknowledged) <= kill_rounds
    assert [
        said for said, times in Counter(content for *_, content in end["messages"]).items() if times > 1
    ] == []
    assert_facts(end)
    for counts in end["stats"].values():
        assert counts["vector_documents"] == counts["total_messages"] + counts["total_facts"]


def assert_facts(end: dict[str, Any]) -> None:
    """Each message names a town of its own and the newest one holds; the towns of long ago were pruned."""
    facts = [(user, content) for user, _, content in end["facts"]]
    assert len(facts) == len(set(facts))
    assert len(facts) < len(end["messages"]), "nothing was pruned"
    active = {user: content for user, status, content in end["facts"] if status == "active"}
    newest = {user: content for user, _, content in end["messages"]}
    assert len([one for one in end["facts"] if one[1] == "active"]) == len(USERS)
    for user in USERS:
        assert newest[user].startswith(f"I {active[user].replace('Lives', 'live')} and")
