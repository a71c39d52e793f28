"""/forget with the whole bot as a process: tapped, undone, replied to, killed; then nothing is left in any file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepsake.locales import translate
from keepsake.settings import PROJECT_DIR
from keepsake.store.database import connect_reader
from keepsake.verify import verify
from tests.forgetting.test_removal import left_of
from tests.model_server import MODEL, ModelServer
from tests.telegram_server import TelegramServer

ANN = 11
SECONDS = 60
Json = dict[str, Any]


@contextmanager
def bot(server: TelegramServer, model: ModelServer, undo_seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "TELEGRAM_BOT_TOKEN": server.token,
        "TELEGRAM_API_URL": server.url,
        "ALLOWED_USER_IDS": "*",
        "OPENAI_BASE_URL": model.url,
        "OPENAI_MODEL": MODEL,
        "FACT_EXTRACTION_EVERY": "1",
        "UNDO_SECONDS": str(undo_seconds),
    }
    command = [sys.executable, str(PROJECT_DIR / "bot.py")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def waited(found: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not found():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def rows(data_dir: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{data_dir / 'memory.db'}?mode=ro", uri=True)) as connection:
        return [row[0] for row in connection.execute(statement)]


def known(data_dir: Path) -> list[str]:
    return rows(data_dir, "SELECT content FROM facts")


def scrubbed(data_dir: Path) -> bool:
    return not rows(data_dir, "SELECT id FROM jobs WHERE kind = 'scrub'")


def shown(server: TelegramServer, text: str) -> Json:
    """The bot's newest message that begins so, once it is there."""
    assert waited(lambda: any(one["text"].startswith(text) for one in server.messages(ANN)))
    return next(one for one in reversed(server.messages(ANN)) if one["text"].startswith(text))


def tap(server: TelegramServer, message: Json, label: str) -> None:
    (data,) = [
        button["callback_data"]
        for row in message["reply_markup"]["inline_keyboard"]
        for button in row
        if button["text"].startswith(label)
    ]
    server.state.push_press(message, data)


@pytest.mark.parametrize(
    ("language", "said", "fact", "word"),
    [
        ("en", "I live in Zagorsk", "Lives in Zagorsk", "Zagorsk"),
        ("ru", "я живу в Загорске", "Живёт в Загорске", "Загорск"),
    ],
)
def test_after_taps_and_undo_nothing_is_left_but_what_stays(
    language: str, said: str, fact: str, word: str, data_dir: Path
) -> None:
    def words(key: str, **values: Any) -> str:
        return translate(language, key, **values)

    with (
        TelegramServer() as server,
        ModelServer(answer=lambda _: "thank you") as model,
        bot(server, model, 3) as process,
    ):
        server.push_text(ANN, "I like jazz", language=language)
        heard = server.push_text(ANN, said, language=language)["message"]
        server.wait_for_messages(ANN, 2, SECONDS)
        answer = server.messages(ANN)[1]
        assert answer["text"] == "thank you"
        assert waited(lambda: fact in known(data_dir))
        server.push_text(ANN, f"/forget {word}", language=language)
        tap(server, shown(server, words("forget-this", content=fact)), words("forget-yes"))
        done = shown(server, words("forget-done"))
        assert fact not in known(data_dir)
        tap(server, done, words("forget-undo"))
        shown(server, words("forget-undone"))
        assert fact in known(data_dir)

        server.push_text(ANN, "/forget", language=language, reply_to_message=heard)
        shown(server, words("forget-message-done"))
        assert known(data_dir) == ["Likes jazz"]
        assert left_of(data_dir, word), "its pages are not written anew until it cannot be undone any more"
        server.push_text(ANN, "/forget", language=language, reply_to_message=answer)
        assert waited(lambda: len(rows(data_dir, "SELECT id FROM messages WHERE role = 'assistant'")) == 1)
        assert waited(lambda: scrubbed(data_dir))
        assert waited(lambda: left_of(data_dir, word) == [])
        assert left_of(data_dir, "jazz") == ["jazz"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    assert left_of(data_dir, word) == []
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        assert [check for check in verify(connection, data_dir) if not check.ok] == []


def test_a_kill_before_the_while_is_over_leaves_nothing_at_the_next_start(data_dir: Path) -> None:
    with TelegramServer() as server, ModelServer(answer=lambda _: "thank you") as model:
        with bot(server, model, 600) as process:
            server.push_text(ANN, "I live in Zagorsk")
            server.wait_for_messages(ANN, 1, SECONDS)
            assert waited(lambda: known(data_dir) != [])
            server.push_text(ANN, "/forget zagorsk")
            asked = shown(server, translate("en", "forget-this", content="Lives in Zagorsk"))
            tap(server, asked, translate("en", "forget-yes"))
            done = shown(server, translate("en", "forget-done"))
            tap(server, done, translate("en", "forget-message", snippet="I live in Zagorsk"))
            done = shown(server, translate("en", "forget-message-done"))
            process.kill()
            process.wait()
        assert left_of(data_dir, "Zagorsk") == ["Zagorsk"]
        with bot(server, model, 600) as process:
            tap(server, done, translate("en", "forget-undo"))
            shown(server, translate("en", "forget-late"))
            assert waited(lambda: scrubbed(data_dir))
            assert left_of(data_dir, "Zagorsk") == []
            assert known(data_dir) == []
