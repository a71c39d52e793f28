"""The whole process: from start to the first answer, and what it holds in RAM when idle."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from benchmarks.measure import Row, quantile
from tests.model_server import MODEL, ModelServer

ROOT = Path(__file__).resolve().parents[1]
_STARTS = 5


def start(folder: Path) -> list[Row]:
    """`bot.py chat` in a pipe against an endpoint that answers at once."""
    with ModelServer() as server:
        environment = {
            **os.environ,
            "DATA_DIR": str(folder),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_MODEL": MODEL,
        }
        lives = [_one_life(environment) for _ in range(_STARTS + 1)][1:]
    seconds = quantile([life[0] for life in lives], 0.5)
    own = quantile([life[1] for life in lives], 0.5)
    tree = quantile([life[2] for life in lives], 0.5)
    return [
        Row("start to first answer, median of 5", f"{seconds:.2f} s", "< 3 s"),
        Row("RSS after it, the process / with Chroma's child", f"{own:.0f} / {tree:.0f} MB", "< 300 MB"),
    ]


def _one_life(environment: dict[str, str]) -> tuple[float, float, float]:
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "bot.py", "chat"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write("hello, I live in Angarsk\n")
        chat.stdin.flush()
        chat.stdout.readline()
        seconds = time.perf_counter() - begun
        time.sleep(4)  # the vectors are made, the child is up
        process = psutil.Process(chat.pid)
        own = process.memory_info().rss / 1e6
        tree = own + sum(child.memory_info().rss for child in process.children(recursive=True)) / 1e6
        chat.stdin.close()
        chat.wait(60)
    return seconds, own, tree
