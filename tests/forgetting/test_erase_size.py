"""Erasing a person of few, many and very many messages while another one writes: nothing is left in any file."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import string
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from keepsake.clock import system_clock, to_micros
from keepsake.manager import HybridMemoryManager
from keepsake.settings import load_settings
from keepsake.store import inbox, outbox
from keepsake.store.inbox import Arrived
from keepsake.store.outbox import Address
from keepsake.verify import verify_folder
from tests.engine.tools import Wide
from tests.forgetting.leftovers import Held, held, held_by_others, left_apart
from tests.model_server import MODEL, Body, ModelServer

PERSON, OTHER, WRITER = 5, 55, 56
_OPENINGS = {
    "en": "I want you to know that the word of the day is {}, and I live in {}",
    "ru": "Запомни, пожалуйста, что слово этого дня {}, а живу я в городе {}",
    "vi": "Hôm nay tôi đã viết từ {} vào sổ tay của mình, tôi sống ở {}",
    "zh": "我今天在本子上写下了{}这个词，现在我住在{}",
    "code": 'def {}() -> None:\n    print("{}")  # see C:\\temp\n    return lookup()\n',
}
_LETTERS = {
    "en": string.ascii_lowercase,
    "ru": "абвгдежзиклмнопрстуфхцчшщэюя",
    "vi": "aăâbcdđeêghiklmnoôơpqrstuưvxyáàảãạấầ",
    "zh": "".join(map(chr, range(0x4E00, 0x4E00 + 3000))),
    "code": string.ascii_letters + string.digits + "_",
}
_FACT_EVERY = 10  # messages


def texts(seed: str) -> Iterator[str]:
    """Messages in turn of each language, each with words of its own."""
    draw = random.Random(seed)
    while True:
        for language, opening in _OPENINGS.items():
            words = ("".join(draw.choices(_LETTERS[language], k=16)) for _ in range(2))
            yield opening.format(*words)


def some_facts(body: Body) -> Body:
    """One of ten of the user's messages is a fact, as it was said."""
    lines = [
        line.split("] user, ") for line in body["messages"][-1]["content"].splitlines() if "] user, " in line
    ]
    chosen = [(int(number[1:]), said.partition(": ")[2]) for number, said in lines]
    return {
        "facts": [
            {"content": said[-60:], "quote": said, "message_ids": [number]}
            for number, said in chosen
            if number % _FACT_EVERY == 0
        ]
    }


async def write(memory: HybridMemoryManager, user: int, say: Iterator[str], count: int) -> list[str]:
    said = [next(say) for _ in range(count)]
    for number, text in enumerate(said):
        role = "assistant" if number % 7 == 6 else "user"
        await memory.save_message(user, role, text, key=uuid4().hex)
    return said


def mail(user: int, text: str) -> Callable[[sqlite3.Connection], None]:
    def put(connection: sqlite3.Connection) -> None:
        update, now = user * 10_000, to_micros(system_clock())
        inbox.put(connection, [Arrived(update, user, None, user, f'{{"text": "{text[-30:]}"}}')], now)
        outbox.put(connection, Address(update, user, user), [("answer:0", f"You said {text}")], now)

    return put


async def messages_of(memory: HybridMemoryManager, user: int) -> list[str]:
    database = (await memory.engine()).storage.database
    rows = await database.read(
        lambda c: c.execute("SELECT content FROM messages WHERE user_id = ? ORDER BY id", (user,)).fetchall()
    )
    return [row[0] for row in rows]


def report(count: int, seconds: float, receipt: dict[str, Any], written: int) -> str:
    rows = ", ".join(f"{number} {name}" for name, number in receipt["counts"].items() if number)
    return f"\nerased {count} messages in {seconds:.2f} s while another one wrote {written}: {rows}"


@pytest.mark.parametrize(
    "count", [10, 1000, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
async def test_nothing_is_left_of_a_person_while_another_one_writes(
    count: int, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(facts=some_facts) as server:
        settings = load_settings(openai_base_url=server.url, openai_model=MODEL, data_dir=data_dir)
        async with HybridMemoryManager(settings, embedder=Wide("wide")) as memory:
            own, others, writes = texts("own"), texts("others"), texts("writer")
            kept = []
            for part in range(0, count, 50):  # in turns, so that their rows share pages
                await write(memory, PERSON, own, min(50, count - part))
                kept += await write(memory, OTHER, others, 5)
            for user, say in ((PERSON, own), (OTHER, others)):
                assert await memory.remember(user, next(say)) is not None
                await (await memory.engine()).storage.database.write(mail(user, next(say)))
            await memory.flush()
            stats = await memory.get_memory_stats(PERSON)
            assert stats["vector_documents"] == int(str(stats["total_messages"])) + int(
                str(stats["total_facts"])
            )
            mine, before = held(settings.database_path, of=PERSON), held_of(settings.database_path, OTHER)
            assert_is_found(data_dir, mine, held_by_others(settings.database_path, than=PERSON))

            stop = asyncio.Event()

            async def go_on_writing() -> list[str]:
                said = []
                while not stop.is_set():
                    said += await write(memory, WRITER, writes, 1)
                return said

            writing = asyncio.create_task(go_on_writing())
            begun = time.perf_counter()
            erasure = await memory.begin_erasure(PERSON)
            assert erasure is not None
            receipt: dict[str, Any] = await memory.erased(erasure)
            seconds = time.perf_counter() - begun
            stop.set()
            written = await writing

            assert receipt["left"] == 0, receipt["left_in"]
            assert receipt["counts"]["messages"] == count
            assert held(settings.database_path, of=PERSON) == Held(frozenset(), ())
            assert left_apart(data_dir, mine, held_by_others(settings.database_path, than=PERSON)) == {}
            assert await messages_of(memory, OTHER) == kept
            assert await messages_of(memory, WRITER) == written
            assert before == held_of(settings.database_path, OTHER)
            await memory.flush()
            assert (await memory.get_memory_stats(WRITER))["total_messages"] == len(written) > 0
    assert [check for check in verify_folder(settings.database_path, data_dir) if not check.ok] == []
    with capsys.disabled():
        print(report(count, seconds, receipt, len(written)))


def held_of(database: Path, user: int) -> Held:
    found = held(database, of=user)
    return Held(found.texts, tuple(sorted(found.vectors)))


def assert_is_found(data_dir: Path, mine: Held, others: Held) -> None:
    """Else an empty result at the end would say nothing."""
    some = frozenset(sorted(mine.texts, key=len)[-30:])
    found = left_apart(data_dir, Held(some, mine.vectors), others)
    assert any(name.startswith("memory.db") for name in found)
    assert any(name.startswith("vector_db") for name in found)
