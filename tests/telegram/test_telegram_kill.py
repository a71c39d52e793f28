"""The whole bot under SIGKILL while several people write: every message is answered, in order, hardly ever twice."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepsake.settings import PROJECT_DIR
from tests.model_server import MODEL, ModelServer
from tests.telegram_server import TelegramServer

PEOPLE = (11, 12, 13, 14)


def echo(body: dict[str, Any]) -> str:
    return f"re: {body['messages'][-1]['content']}"


@contextmanager
def bot(server: TelegramServer, model: ModelServer) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "TELEGRAM_BOT_TOKEN": server.token,
        "TELEGRAM_API_URL": server.url,
        "ALLOWED_USER_IDS": "*",
        "OPENAI_BASE_URL": model.url,
        "OPENAI_MODEL": MODEL,
    }
    command = [sys.executable, str(PROJECT_DIR / "bot.py")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def letters_in_flight(data_dir: Path) -> int:
    """How many sends the last kill has cut in two: only these may arrive twice."""
    with sqlite3.connect(f"file:{data_dir / 'memory.db'}?mode=ro", uri=True) as connection:
        row = connection.execute("SELECT count(*) FROM outbox WHERE state = 'sending'").fetchone()
    connection.close()
    return int(row[0])


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_kills_lose_nothing_and_keep_the_order(kill_rounds: int, seed: int, data_dir: Path) -> None:
    chance = random.Random(seed)
    written: dict[int, list[str]] = {person: [] for person in PEOPLE}
    in_flight = 0
    with TelegramServer() as server, ModelServer(answer=echo, piece_seconds=0.01) as model:
        for number in range(kill_rounds):
            with bot(server, model) as process:
                polls = len(server.state.calls)
                for person in chance.sample(PEOPLE, 3):
                    written[person].append(f"message {number} of {person}")
                    server.push_text(person, written[person][-1])
                    time.sleep(chance.uniform(0, 0.2))
                deadline = time.monotonic() + 30
                while len(server.state.calls) == polls and time.monotonic() < deadline:
                    time.sleep(0.01)  # it has begun to talk
                time.sleep(chance.uniform(0, 1.5))
                process.kill()
            in_flight += letters_in_flight(data_dir)
        with bot(server, model) as process:
            for person in PEOPLE:
                written[person].append(f"the last of {person}")
                server.push_text(person, written[person][-1])
            for person in PEOPLE:
                server.wait_for_text(person, f"re: the last of {person}", 120)
            process.terminate()
            assert process.wait(60) == 0
        doubled = 0
        for person in PEOPLE:
            told = [message["text"] for message in server.messages(person)]
            assert list(dict.fromkeys(told)) == [f"re: {text}" for text in written[person]]
            doubled += sum(times - 1 for times in Counter(told).values())
        assert doubled <= in_flight
    kept = sqlite3.connect(data_dir / "memory.db")
    for person in PEOPLE:
        rows = kept.execute("SELECT role, content FROM messages WHERE user_id = ? ORDER BY id", (person,))
        said = [content for role, content in rows if role == "user"]
        assert said == written[person]
        answered = kept.execute(
            "SELECT content FROM messages WHERE user_id = ? AND role = 'assistant' ORDER BY id", (person,)
        ).fetchall()
        assert [row[0] for row in answered] == [f"re: {text}" for text in written[person]]
    assert kept.execute("SELECT count(*) FROM inbox WHERE payload IS NOT NULL").fetchone() == (0,)
    assert kept.execute("SELECT count(*) FROM outbox WHERE payload IS NOT NULL").fetchone() == (0,)
    kept.close()
