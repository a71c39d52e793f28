"""/delete_me in Telegram, against the real server, memory and files."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from keepsake.assistant import Assistant
from keepsake.forgetting.ledger import Ledger
from keepsake.forgetting.registry import people
from keepsake.locales import translate
from keepsake.manager import MemoryManager
from keepsake.store import jobs
from keepsake.store.database import connect_reader
from tests.handlers.fakes import FakeModel
from tests.telegram.tools import ANN, BOB, Gated, assistant, kept, listening, off_loop
from tests.telegram_server import TelegramServer

SECRET = "my heron-17-violet parrot sleeps"


async def _app(server: TelegramServer, memory: MemoryManager, model: FakeModel) -> Assistant:
    app = await assistant(server, memory, model)
    memory.when_forgotten(app.states.forget)
    return app


async def _question(server: TelegramServer) -> dict[str, Any]:
    """The message with the two buttons, once it is there."""
    before = len(server.messages(ANN))
    server.push_text(ANN, "/delete_me")
    return (await off_loop(server.wait_for_messages, ANN, before + 1))[-1]


def _yes(question: dict[str, Any]) -> str:
    return str(question["reply_markup"]["inline_keyboard"][0][0]["callback_data"])


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def _receipt(server: TelegramServer, data_dir: Path) -> str:
    while not (receipt := Ledger(data_dir).find(ANN)):  # noqa: ASYNC110 - there is nothing to be told by
        await asyncio.sleep(0.02)
    text = translate("en", "delete-me-done", seq=str(receipt.seq), sha256=receipt.sha256)
    await off_loop(server.wait_for_text, ANN, text)
    return text


async def test_all_of_the_person_goes_and_the_receipt_is_told(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    app = await _app(server, memory, FakeModel())
    async with listening(app):
        server.push_text(ANN, SECRET)
        server.push_text(BOB, "I stay")
        await off_loop(server.wait_for_text, ANN, f"echo: {SECRET}")
        await off_loop(server.wait_for_text, BOB, "echo: I stay")
        question = await _question(server)
        server.state.push_press(question, _yes(question), BOB)
        server.push_text(BOB, "and I pressed")
        await off_loop(server.wait_for_text, BOB, "echo: and I pressed")
        assert len(await kept(memory)) == 6, "the press of another person does nothing"
        server.state.push_press(question, _yes(question))
        await _receipt(server, data_dir)
        assert [said.user_id for said in await kept(memory)] == [BOB] * 4
        assert not app.states.is_history_loaded(ANN)
        database = (await memory.engine()).storage.database
        while await database.read(jobs.told_later, "erase"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert await database.read(people) == [BOB]
        assert b"heron-17" not in bytes_of(data_dir)
        server.push_text(ANN, "hello again")
        await off_loop(server.wait_for_text, ANN, "echo: hello again")


async def test_work_in_flight_cannot_write_back_and_others_are_served_meanwhile(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    """A reader of memory.db makes the erasure wait in its middle."""
    app = await _app(server, memory, FakeModel())
    async with listening(app):
        question = await _question(server)
        with closing(connect_reader(data_dir / "memory.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM messages").fetchone()
            server.state.push_press(question, _yes(question))
            await off_loop(server.wait_for_text, ANN, translate("en", "delete-me-begun"))
            while not list(data_dir.glob("erasing-*")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            server.push_text(BOB, "am I served?")
            await off_loop(server.wait_for_text, BOB, "echo: am I served?")
            server.push_text(ANN, "said during it")
            reader.execute("COMMIT")
        await _receipt(server, data_dir)
        await off_loop(server.wait_for_text, ANN, "echo: said during it")
    assert [said.content for said in await kept(memory) if said.user_id == ANN] == [
        "said during it",
        "echo: said during it",
    ]


async def test_an_answer_that_is_being_written_is_dropped(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    model = Gated(SECRET)
    app = await _app(server, memory, model)
    async with listening(app):
        server.push_text(ANN, SECRET)
        await model.reached.wait()
        erasure = await memory.begin_erasure(ANN)
        assert erasure is not None
        assert (await memory.erased(erasure))["left"] == 0
        model.gate.set()
        server.push_text(ANN, "after it")
        await off_loop(server.wait_for_text, ANN, "echo: after it")
    assert [said.content for said in await kept(memory)] == ["after it", "echo: after it"]
    assert [message["text"] for message in server.messages(ANN)] == ["echo: after it"]
    assert b"heron-17" not in bytes_of(data_dir)


async def test_a_receipt_that_a_kill_kept_back_is_told_at_the_next_start(
    server: TelegramServer, memory: MemoryManager, data_dir: Path
) -> None:
    app = await _app(server, memory, FakeModel())
    async with listening(app):
        server.push_text(ANN, SECRET)
        await off_loop(server.wait_for_text, ANN, f"echo: {SECRET}")
    to: dict[str, object] = {"chat_id": ANN, "thread_id": None, "language": "en"}
    await memory.begin_erasure(ANN, to)
    await memory.flush()
    row = _job(data_dir)
    assert row[0] == "done"
    assert row[1] is None
    async with listening(app):
        await _receipt(server, data_dir)
        while _job(data_dir):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def _job(data_dir: Path) -> Any:
    with closing(sqlite3.connect(data_dir / "memory.db")) as connection:
        return connection.execute("SELECT state, user_id FROM jobs WHERE kind = 'erase'").fetchone()
