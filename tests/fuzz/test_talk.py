"""What people and Telegram send: commands, presses, lines of a pipe, updates of any shape."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers import COMMANDS, PRESSES, press, receive
from keepsake.assistant import build_assistant
from keepsake.locales import translate
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from keepsake.terminal.chat import TerminalChat, printable
from keepsake.terminal.lines import PipeLines
from tests.fuzz.strategies import LONG, QUICK, changed, in_soak, texts, values
from tests.handlers.fakes import FakeModel, RecordingChat
from tests.telegram.tools import ANN, BOB, assistant, listening, off_loop
from tests.telegram_server import TelegramServer

# A person sees this where an exception that is not foreseen ended a handler.
FAILED = {translate(language, "something-went-wrong") for language in ("en", "ru")}

names = st.sampled_from([*COMMANDS, "delete_me@bot", "nothing"])
commands = st.builds("/{} {}".format, names, st.one_of(texts, st.integers().map(str)))
parts = st.lists(
    st.one_of(st.integers().map(str), texts, st.sampled_from(["yes", "no", "7", "en"])), max_size=4
)
presses = st.builds(
    lambda name, rest: ":".join([name, *rest])[:64], st.sampled_from([*PRESSES, "x", ""]), parts
)


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """So many examples, for tests that await."""
    found: list[Any] = []

    @(QUICK if count <= QUICK.max_examples else LONG)
    @given(strategy)
    def draw(example: Any) -> None:
        found.append(example)

    draw()
    return found[:count]


@pytest.mark.parametrize("count", [60, pytest.param(4000, marks=in_soak)])
async def test_no_command_and_no_press_fails(count: int, data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, allowed_user_ids="*")
    async with MemoryManager(settings) as memory:
        app = await build_assistant(settings, memory, FakeModel())
        for number in range(25):
            await memory.save_message(7, "user", f"tea number {number}")
            await memory.remember(7, f"I like tea number {number}")
        for way, strategy in ((receive, st.one_of(commands, texts)), (press, presses)):
            for said in drawn(strategy, count):
                chat = RecordingChat(7)
                await way(app, chat, said)
                assert not FAILED & set(chat.shown), said
        await app.tasks.wait()


@QUICK
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_a_pipe_of_any_bytes_is_lines_of_text(chunks: list[bytes]) -> None:
    content = b"".join(chunks)

    async def lines() -> list[str]:
        read, write = os.pipe()
        os.write(write, content)
        os.close(write)
        try:
            pipe, found = PipeLines(read), list[str]()
            while (line := await pipe.next()) is not None:
                found.append(line)
            return found
        finally:
            os.close(read)

    found = asyncio.run(lines())
    whole = content.decode("utf-8", "replace").removesuffix("\n").split("\n") if content else []
    assert found == [line.removesuffix("\r") for line in whole]
    chat = TerminalChat(7, "en", io.StringIO(), io.StringIO())
    for line in found:
        assert chat.pressed(line) is None, "there are no buttons"
        assert all(char >= " " or char in "\n\t" for char in printable(line))


def update(user: int) -> dict[str, Any]:
    person = {"id": user, "is_bot": False, "first_name": "Ann", "language_code": "en"}
    chat = {"id": user, "type": "private", "first_name": "Ann"}
    return {
        "message": {
            "message_id": 5,
            "date": 1_780_000_000,
            "chat": chat,
            "from": person,
            "text": "hello",
            "entities": [{"type": "bold", "offset": 0, "length": 5}],
            "forward_origin": {"type": "user", "date": 1_780_000_000, "sender_user": person},
        }
    }


def pressed(user: int) -> dict[str, Any]:
    whole = update(user)["message"]
    query = {"id": "4", "from": whole["from"], "message": whole, "chat_instance": "1", "data": "facts:2"}
    return {"callback_query": query}


def at_home(fields: dict[str, Any]) -> dict[str, Any]:
    """The update with whatever chat it names as one that there is: into others nobody may write."""

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            moved_in = {key: moved(one) for key, one in value.items()}
            if isinstance(value.get("chat"), dict) and type(value["chat"].get("id")) in (int, float, bool):
                moved_in["chat"]["id"] = BOB
            return moved_in
        return value

    home: dict[str, Any] = moved(fields)
    return home


edited = {"edited_message": update(BOB)["message"] | {"edit_date": 1_780_000_001}}
updates = st.one_of(
    *(changed(whole) for whole in (update(BOB), pressed(BOB), edited)),
    st.fixed_dictionaries({"message": values}),
)


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=in_soak)])
async def test_no_update_keeps_the_next_one_from_its_answer(
    count: int, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepsake.telegram.limits.CHAT_SECONDS", 0.0)
    with TelegramServer(limits=False) as server:
        async with MemoryManager(load_settings(data_dir=data_dir)) as memory:
            app = await assistant(server, memory, FakeModel())
            async with listening(app):
                server.push_text(BOB, "hello")  # from here on there is such a chat
                for fields in drawn(updates, count):
                    if isinstance(fields, dict):
                        server.state.push_raw(at_home(fields))
                server.push_text(ANN, "are you there?")
                await off_loop(server.wait_for_text, ANN, "echo: are you there?", 60)
                said = [message["text"] for message in server.messages(ANN)]
    assert said.count("echo: are you there?") == 1
