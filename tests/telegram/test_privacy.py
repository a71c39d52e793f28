"""What is said in a pause or incognito, in Telegram: on no disk but while it waits, and never in memory.db."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from keepsake.locales import translate
from keepsake.manager import MemoryManager
from keepsake.settings import Settings
from keepsake.store.database import connect_reader
from keepsake.telegram import preview
from tests.handlers.fakes import FakeModel
from tests.model_server import ModelServer
from tests.telegram.test_telegram_kill import bot, echo
from tests.telegram.test_telegram_mail import Growing
from tests.telegram.tools import ANN, BOB, Gated, assistant, kept, listening, off_loop
from tests.telegram_server import TelegramServer
from tests.telegram_server.rules import RefusedError

SECRET = "the vault is under the heron-17 statue"
WORD = "heron-17"


def holding(folder: Path, word: str = WORD) -> set[str]:
    """Names of the files in which a word stands, in UTF-8, UTF-16 or as JSON escapes it."""
    forms = [word.encode("utf-8"), word.encode("utf-16-le"), word.encode("utf-16-be")]
    forms.append(word.encode("unicode_escape"))
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    }


async def until_done(data_dir: Path) -> None:
    """Returns when no update waits any more and no file of one is left."""
    connection = connect_reader(data_dir / "memory.db")
    undone = "SELECT count(*) FROM inbox WHERE done_at IS NULL"
    while connection.execute(undone).fetchone()[0] or list(data_dir.glob("in-flight-*")):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    connection.close()


async def test_it_is_in_a_file_of_its_own_until_it_is_answered(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    model = Gated(SECRET)
    async with listening(await assistant(server, memory, model)):
        server.push_text(BOB, "I stay")
        server.push_text(ANN, "/pause")
        server.push_text(ANN, SECRET)  # before the pause is handled
        await model.reached.wait()
        held = holding(data_dir)
        model.gate.set()
        await off_loop(server.wait_for_text, ANN, f"echo: {SECRET}")
        await until_done(data_dir)
        assert holding(data_dir) == set()
    assert {name.split("-")[0] for name in held} == {"in"}
    assert [said.content for said in await kept(memory)] == ["I stay", "echo: I stay"]


async def test_an_edit_of_it_is_not_kept_and_one_of_an_older_message_is(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        older = server.push_text(ANN, "I like tea")
        await off_loop(server.wait_for_text, ANN, "echo: I like tea")
        server.push_text(ANN, "/pause")
        private = server.push_text(ANN, "something private")
        await off_loop(server.wait_for_text, ANN, "echo: something private")
        server.state.push_edit(older, "I like green tea")
        server.state.push_edit(private, SECRET)
        server.push_text(ANN, "/resume")
        await off_loop(server.wait_for_text, ANN, translate("en", "resume-done"))
        server.state.push_edit(private, f"{SECRET} again")
        server.push_text(ANN, "as you said", reply_to_message={**private["message"], "text": SECRET})
        await off_loop(server.wait_for_text, ANN, "echo: as you said")
        await until_done(data_dir)
    said = [message.content for message in await kept(memory)]
    assert said == ["I like green tea", "echo: I like tea", "as you said", "echo: as you said"]
    assert holding(data_dir) == set()


async def test_a_preview_that_is_edited_is_not_kept_either(
    server: TelegramServer, memory: MemoryManager, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DRAFT_SECONDS", "EDIT_SECONDS"):
        monkeypatch.setattr(preview, name, 0.1)
    server.state.refuse_next("sendMessageDraft", RefusedError(404, "Not Found"))
    async with listening(await assistant(server, memory, Growing(0.3))):
        server.push_text(ANN, "/incognito")
        server.push_text(ANN, SECRET)
        await off_loop(server.wait_for_text, ANN, "One two three four")
        await until_done(data_dir)
    assert len(server.messages(ANN)) == 2  # the answer took the preview's place
    assert any(name == "editMessageText" for name, _ in server.state.calls)
    for word in (WORD, "One", "two three"):
        assert holding(data_dir, word) == set()
    assert await kept(memory) == []


async def test_an_erasure_takes_what_is_in_flight_along(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    model = Gated(SECRET)
    app = await assistant(server, memory, model)
    async with listening(app):
        server.push_text(ANN, "/pause")
        server.push_text(ANN, SECRET)
        await model.reached.wait()
        assert holding(data_dir)
        erasure = await memory.begin_erasure(ANN)
        assert erasure is not None
        assert (await memory.erased(erasure))["left"] == 0
        assert holding(data_dir) == set()
        assert list(data_dir.glob("in-flight-*")) == []
        server.push_text(ANN, "kept again")
        await off_loop(server.wait_for_text, ANN, "echo: kept again")
    assert [said.content for said in await kept(memory)] == ["kept again", "echo: kept again"]


async def test_incognito_that_a_restart_has_ended_keeps_nothing_of_what_waited(
    server: TelegramServer, settings: Settings, data_dir: Path
) -> None:
    async with MemoryManager(settings) as memory, listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "/incognito")
        await off_loop(server.wait_for_text, ANN, translate("en", "incognito-begun", minutes=30))
    server.push_text(ANN, SECRET)
    server.push_text(ANN, f"{SECRET}, once more")
    async with MemoryManager(settings) as memory:
        async with listening(await assistant(server, memory, FakeModel())):
            await off_loop(server.wait_for_messages, ANN, 3)
            await until_done(data_dir)
        over = translate("en", "incognito-over")
        assert [message["text"] for message in server.messages(ANN)[1:]] == [over] * 2
        assert await kept(memory) == []
    assert holding(data_dir) == set()


def test_a_pause_over_kills_and_restarts(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole process: what was said in the pause is on no disk, not recalled, and no later sweep takes it."""
    monkeypatch.setenv("FACT_EXTRACTION_EVERY", "2")
    monkeypatch.setenv("EMBEDDING_MODEL", "none")
    with TelegramServer() as server, ModelServer(answer=echo) as model:
        with bot(server, model) as process:
            server.push_text(ANN, "I love tea")
            server.wait_for_text(ANN, "re: I love tea", 60)
            server.push_text(ANN, "/pause")
            server.push_text(ANN, f"remember that {SECRET}")
            server.wait_for_text(ANN, f"re: remember that {SECRET}", 60)
            process.kill()
        with bot(server, model) as process:
            server.push_text(ANN, "and the other is at crane-18, ш-журавль")
            server.wait_for_text(ANN, "re: and the other is at crane-18, ш-журавль", 60)
            process.terminate()
            assert process.wait(60) == 0
        for word in (WORD, "crane-18", "журавль"):
            assert holding(data_dir, word) == set()
        asked = [body for body in model.requests if "crane-18" in str(body)]
        assert all("I love tea" in str(body) for body in asked)
        assert asked
        with bot(server, model) as process:
            server.push_text(ANN, "/resume")
            for text in ("where is the heron statue?", "what is at the crane?"):
                server.push_text(ANN, text)
                server.wait_for_text(ANN, f"re: {text}", 60)
            deadline = time.monotonic() + 60
            while not _drawn(model) and time.monotonic() < deadline:
                time.sleep(0.02)
            process.terminate()
            assert process.wait(60) == 0
        since = next(at for at, body in enumerate(model.requests) if "heron statue" in str(body))
        assert not any(word in str(model.requests[since:]) for word in (WORD, "crane-18"))
        assert not any(word in str(_drawn(model)) for word in (WORD, "crane-18"))
        told = [message["text"] for message in server.messages(ANN)]
        assert translate("en", "pause-begun") in told
        assert translate("en", "pause-goes-on") in told
        for word in (WORD, "crane-18", "журавль"):
            assert holding(data_dir, word) == set()


def _drawn(model: ModelServer) -> list[dict[str, Any]]:
    """The requests for facts."""
    return [body for body in model.requests if "response_format" in body]
