"""The bot over HTTP: how long fifty people wait together, and how RAM grows over ten thousand messages.

`make bench-telegram`; `ARGS=--quick` for the first alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.measure import Row, table
from tests.model_server import MODEL, ModelServer
from tests.telegram_server import TelegramServer

ROOT = Path(__file__).resolve().parents[1]
_PEOPLE = 50
_MODEL_SECONDS = 2.0
_MESSAGES = 10_000
_CHATS = 100
_WARM = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.telegram", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the ten thousand messages")
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores")
    rows = [_together()]
    if not options.quick:
        rows.append(_growth())
    print(table(rows))


def _slow_echo(body: dict[str, Any]) -> str:
    time.sleep(_MODEL_SECONDS)
    return _echo(body)


def _echo(body: dict[str, Any]) -> str:
    return f"re: {body['messages'][-1]['content']}"


def _together() -> Row:
    """Fifty people write at once; the model's own time is that of the same requests made straight to it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        TelegramServer() as server,
        ModelServer(answer=_slow_echo) as model,
        _bot(server, model, Path(folder)),
    ):
        _warm_up(server)
        alone = _model_alone(model)
        begun = time.monotonic()
        for person in range(1, _PEOPLE + 1):
            server.push_text(person, f"what did I say about the harbour on day {person}?")
        for person in range(1, _PEOPLE + 1):
            server.wait_for_messages(person, 1, 120)
        taken = time.monotonic() - begun
    figures = f"{taken / alone:.2f} ({taken:.1f} s of {alone:.1f} s)"
    return Row(
        f"{_PEOPLE} people at once, a model that takes {_MODEL_SECONDS:g} s: last answer, of the model's own time",
        figures,
        "≤ 1.5",
    )


def _growth() -> Row:
    with (
        tempfile.TemporaryDirectory() as folder,
        TelegramServer() as server,
        ModelServer(answer=_echo) as model,
        _bot(server, model, Path(folder)) as process,
    ):
        _warm_up(server)
        _write(server, _WARM // _CHATS, 0)
        before = _rss(process)
        _write(server, (_MESSAGES - _WARM) // _CHATS, _WARM // _CHATS)
        after = _rss(process)
    return Row(
        f"{_MESSAGES:,} messages: RSS after {_WARM:,}, growth since",
        f"{before:.0f} MB, {after - before:+.0f} MB",
        "< 20 MB",
    )


def _write(server: TelegramServer, each: int, had: int) -> None:
    """Every chat says `each` more, and all are answered. A chat is not written to far ahead of its answers."""
    for number in range(each):
        for person in range(1, _CHATS + 1):
            server.push_text(
                person, f"message {had + number} of {person}: the ferry leaves at {number} o'clock"
            )
        for person in range(1, _CHATS + 1):
            server.wait_for_messages(person, had + number + 1, 600)


def _warm_up(server: TelegramServer) -> None:
    server.push_text(999, "hello")
    server.wait_for_messages(999, 1, 120)
    time.sleep(3)


def _model_alone(model: ModelServer) -> float:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "stream": True}

    limits = httpx.Limits(max_connections=_PEOPLE)
    with httpx.Client(timeout=60, limits=limits) as client, ThreadPoolExecutor(_PEOPLE) as pool:

        def ask(_: int) -> None:
            client.post(f"{model.url}/chat/completions", json=body).raise_for_status()

        begun = time.monotonic()
        list(pool.map(ask, range(_PEOPLE)))
        return time.monotonic() - begun


@contextmanager
def _bot(server: TelegramServer, model: ModelServer, folder: Path) -> Iterator[psutil.Process]:
    environment = {
        **os.environ,
        "DATA_DIR": str(folder),
        "TELEGRAM_BOT_TOKEN": server.token,
        "TELEGRAM_API_URL": server.url,
        "ALLOWED_USER_IDS": "*",
        "OPENAI_BASE_URL": model.url,
        "OPENAI_MODEL": MODEL,
        "LOG_LEVEL": "ERROR",
    }
    with subprocess.Popen([sys.executable, "bot.py"], cwd=ROOT, env=environment) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(60)


def _rss(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 1e6


if __name__ == "__main__":
    main()
