"""The bot as a process: signals, and what stands in its log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.telegram_server import TelegramServer
from tests.telegram_server.rules import RefusedError

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_no_log_holds_token_or_words(number: signal.Signals) -> None:
    with TelegramServer() as server:
        environment = {
            **os.environ,
            "TELEGRAM_BOT_TOKEN": server.token,
            "TELEGRAM_API_URL": server.url,
            "ALLOWED_USER_IDS": "*",
            "LOG_LEVEL": "DEBUG",
        }
        command = [sys.executable, "-m", "tests.telegram.driver"]
        server.state.refuse_next("sendMessage", RefusedError(502, "Bad Gateway"))
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            server.push_text(11, "my unheard-of words")
            server.push_text(11, "hello")
            server.wait_for_messages(11, 1, SECONDS)
            process.send_signal(number)
            out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    assert out == ""
    assert "a message may be lost" in err
    assert server.token not in err
    assert server.token.split(":")[1] not in err
    assert "unheard-of" not in err
    assert "Traceback" not in err
