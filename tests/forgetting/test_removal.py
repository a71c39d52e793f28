"""Single facts and messages are forgotten through the real engine: what goes, comes back, is not learned again."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keepsake.forgetting import registry
from keepsake.forgetting.removal import Replied
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.models import Fact
from keepsake.settings import load_settings
from keepsake.store.database import Database, connect_reader
from keepsake.verify import verify
from tests.clocks import Hands
from tests.facts.test_life import LIVES
from tests.model_server import MODEL, ModelServer

# What an undo need not bring back as it was: work that waits, and what is made of the rest.
_DERIVED = {"jobs", "embeddings", "vector_queue", "summaries", "usage", "models", "keyword_index_data"}
_DERIVED |= {"keyword_index_idx", "sqlite_sequence", "meta"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(facts=lambda _: {"facts": []}) as server:
        yield server


@pytest.fixture
def hands() -> Hands:
    return Hands()


def opened(
    server: ModelServer, hands: Hands, data_dir: Path, kind: type[MemoryManager] = MemoryManager, **more: Any
) -> MemoryManager:
    chosen = {"openai_base_url": server.url, "openai_model": MODEL, "fact_extraction_every": 1}
    return kind(load_settings(**(chosen | {"data_dir": data_dir} | more)), clock=hands)


@pytest.fixture
async def memory(server: ModelServer, hands: Hands, data_dir: Path) -> AsyncIterator[MemoryManager]:
    async with opened(server, hands, data_dir) as memory:
        yield memory


async def told(
    memory: MemoryManager, server: ModelServer, text: str, *facts: dict[str, Any], user: int = 7, **more: Any
) -> int:
    """Says something of which the model finds these facts; the id of the message."""
    server.script({"do": "json", "value": {"facts": [{"quote": text, **fact} for fact in facts]}})
    message = await memory.save_message(user, "user", text, **more)
    await memory.flush()
    return message.id


def lives(place: str, content: str | None = None) -> dict[str, Any]:
    return {"content": content or f"Lives in {place}", "object": place, **LIVES}


async def contents(memory: MemoryManager, user: int = 7, *, every: bool = False) -> list[str]:
    return [fact.content for fact in await memory.get_facts(user, all_statuses=every)]


async def fact_of(memory: MemoryManager, content: str, user: int = 7) -> Fact:
    return next(fact for fact in await memory.get_facts(user) if fact.content == content)


async def database(memory: MemoryManager) -> Database:
    return (await memory.engine()).storage.database


async def everything(memory: MemoryManager) -> dict[str, list[Any]]:
    """All rows that people have, but for what is made of others."""
    names = [entry.name for entry in registry.TABLES if entry.name not in _DERIVED]

    def rows(connection: sqlite3.Connection) -> dict[str, list[Any]]:
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in names
        }

    return await (await database(memory)).read(rows)


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def left_of(folder: Path, *words: str) -> list[str]:
    """Which of these words stand in some file, as UTF-8 or UTF-16, with a capital or without."""
    held = bytes_of(folder)
    forms = {word: {word, word.lower(), word.capitalize()} for word in words}
    return [
        word
        for word, written in forms.items()
        if any(one.encode(code) in held for one in written for code in ("utf-8", "utf-16-le", "utf-16-be"))
    ]


async def consistent(memory: MemoryManager, data_dir: Path) -> bool:
    await memory.flush()
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        return [check for check in verify(connection, data_dir, with_vectors=False) if not check.ok] == []


async def test_all_that_says_the_same_goes_and_comes_back_as_it_was(
    memory: MemoryManager, server: ModelServer, data_dir: Path
) -> None:
    await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    await told(memory, server, "my home is Angarsk still", lives("Angarsk", "The user lives in Angarsk"))
    await told(memory, server, "I moved to Irkutsk", lives("Irkutsk"))
    await told(memory, server, "I like tea", {"content": "Likes tea"})
    before = await everything(memory)
    removal = await memory.removal()

    gone = await removal.forget(7, [(await fact_of(memory, "Lives in Irkutsk")).id])
    assert await contents(memory) == ["Likes tea"]
    changes = await memory.get_fact_history(7)
    assert all("Irkutsk" not in f"{change.from_value}{change.to_value}" for change in changes)
    angarsk = next(one for one in await memory.get_facts(7, all_statuses=True) if "Angarsk" in one.content)
    away = await removal.forget(7, [angarsk.id])
    assert await contents(memory, every=True) == ["Likes tea"]
    assert await consistent(memory, data_dir)

    assert await removal.undo(7, away.token)
    assert await removal.undo(7, gone.token)
    assert not await removal.undo(7, gone.token)
    assert await everything(memory) == before
    assert await consistent(memory, data_dir)


async def test_it_is_not_learned_again_in_other_words_but_by_hand(
    memory: MemoryManager, server: ModelServer
) -> None:
    await told(memory, server, "I live in Ангарск", lives("Ангарск"))
    removal = await memory.removal()
    await removal.forget(7, [(await fact_of(memory, "Lives in Ангарск")).id])
    await told(memory, server, "as I said, I live in Angarsk", lives("Angarsk"))
    await told(memory, server, "I reside in Angarsk", {**lives("Angarsk"), "predicate": "resides_in"})
    await told(memory, server, "I live in Angarsk, you know", {"content": "User lives in Angarsk."})
    assert await contents(memory) == []
    await told(memory, server, "I live in Omsk", lives("Omsk"), user=8)
    await told(memory, server, "I live in Angarsk", lives("Angarsk"), user=8)
    assert await contents(memory, 8) == ["Lives in Angarsk"]
    await memory.remember(7, "I live in Angarsk")
    assert await contents(memory) == ["I live in Angarsk"]
    await told(memory, server, "I live in Angarsk!", lives("Angarsk"))
    assert len(await contents(memory)) == 1


async def test_the_same_message_does_not_give_it_in_other_words(
    memory: MemoryManager, server: ModelServer
) -> None:
    text = "I am a systems administrator and I like tea"
    works = {"subject": "user", "predicate": "works_as"}
    first = {"content": "Works as a systems administrator", "object": "systems administrator", **works}
    await told(memory, server, text, first)
    await (await memory.removal()).forget(7, [(await memory.get_facts(7))[0].id])
    again = {"content": "Is an administrator of systems", "object": "administrator", "quote": text, **works}
    tea = {"content": "Likes tea", "quote": text, "subject": "user", "predicate": "likes", "object": "tea"}
    await told(memory, server, "and what else?", again, tea)
    assert await contents(memory) == ["Likes tea"]


async def test_remembered_meanwhile_an_undo_gives_no_two_equal_facts(
    memory: MemoryManager, server: ModelServer, data_dir: Path
) -> None:
    await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    removal = await memory.removal()
    gone = await removal.forget(7, [(await memory.get_facts(7))[0].id])
    await memory.remember(7, "I live in Angarsk")
    assert await removal.undo(7, gone.token)
    (held,) = await memory.get_facts(7)
    assert (held.content, held.vital) == ("I live in Angarsk", True)
    assert held.message_ids == (1,)
    assert {fact.status for fact in await memory.get_facts(7, all_statuses=True)} == {"active", "merged"}
    again = await removal.forget(7, [held.id])
    assert await contents(memory, every=True) == []
    assert await removal.undo(7, again.token)
    assert len(await contents(memory)) == 1
    assert await consistent(memory, data_dir)


async def test_an_undo_brings_nothing_back_that_was_forgotten_once_more(
    memory: MemoryManager, server: ModelServer
) -> None:
    await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    removal = await memory.removal()
    first = await removal.forget(7, [(await memory.get_facts(7))[0].id])
    await memory.remember(7, "I live in Angarsk")
    await removal.forget(7, [(await memory.get_facts(7))[0].id])
    assert await removal.undo(7, first.token)
    assert await contents(memory, every=True) == []
    await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    assert await contents(memory) == []


async def test_what_replaced_it_meanwhile_stands(memory: MemoryManager, server: ModelServer) -> None:
    await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    removal = await memory.removal()
    gone = await removal.forget(7, [(await memory.get_facts(7))[0].id])
    await told(memory, server, "I live in Omsk", lives("Omsk"))
    assert await removal.undo(7, gone.token)
    assert await contents(memory) == ["Lives in Omsk"]


async def test_a_message_goes_with_what_came_only_from_it(
    memory: MemoryManager, server: ModelServer, data_dir: Path
) -> None:
    first = await told(memory, server, "I live in Angarsk", lives("Angarsk"), key="one")
    second = await told(
        memory, server, "I live in Angarsk, and like tea", lives("Angarsk"), {"content": "Likes tea"}
    )
    await told(memory, server, "I live in Omsk now", lives("Omsk"))
    before = await everything(memory)
    removal = await memory.removal()
    gone = await removal.forget(7, (), [second])
    assert gone.message_ids == ()
    assert await contents(memory) == ["Lives in Omsk"]
    (old,) = [
        fact
        for fact in await memory.get_facts(7, all_statuses=True)
        if "Angarsk" in fact.content and fact.message_ids == (first,)
    ][:1]
    assert old.status in ("merged", "superseded")
    assert await memory.get_messages(7, [second]) == []
    assert all(message.id != second for message, _ in await memory.search_memory(7, "tea"))
    assert (await memory.get_memory_stats(7))["total_messages"] == 2
    assert await consistent(memory, data_dir)
    assert await removal.undo(7, gone.token)
    assert await everything(memory) == before
    assert (await memory.search_memory(7, "tea"))[0][0].id == second
    assert await consistent(memory, data_dir)


async def test_a_fact_and_then_its_message_come_back_together(
    memory: MemoryManager, server: ModelServer, data_dir: Path
) -> None:
    said = await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    before = await everything(memory)
    removal = await memory.removal()
    gone = await removal.forget(7, [(await memory.get_facts(7))[0].id])
    assert gone.message_ids == (said,)
    also = await removal.forget(7, (), gone.message_ids, joining=gone.token)
    assert also.token == gone.token
    assert (await memory.get_memory_stats(7))["total_messages"] == 0
    assert await removal.undo(7, gone.token)
    assert await everything(memory) == before
    assert await consistent(memory, data_dir)


async def test_nobody_reaches_what_is_somebody_elses(memory: MemoryManager, server: ModelServer) -> None:
    said = await told(memory, server, "I live in Angarsk", lives("Angarsk"), key="telegram:1:7:5")
    await told(memory, server, "hello", user=8)
    fact = (await memory.get_facts(7))[0]
    before = await everything(memory)
    removal = await memory.removal()
    assert (await removal.forget(8, [fact.id], [said])).token == ""
    assert await removal.replied(8, Replied("telegram:1:7:5", 7, 5)) is None
    assert await removal.candidates(8, "Angarsk") == []
    assert await everything(memory) == before
    mine = await removal.forget(7, [fact.id])
    assert not await removal.undo(8, mine.token)
    assert await removal.undo(7, mine.token)


async def test_undo_ends_with_its_while_and_nothing_is_left_then(
    server: ModelServer, hands: Hands, data_dir: Path
) -> None:
    async with opened(server, hands, data_dir, HybridMemoryManager) as memory:
        text = "my grandmother Evlampia lives in Zagorsk"
        fact = {
            "content": "Grandmother Evlampia lives in Zagorsk",
            "object": "Zagorsk",
            "subject": "grandmother",
        }
        said = await told(memory, server, text, fact)
        for number in range(30):
            await memory.save_message(7, "user", f"the train number {number} is late")
        await memory.flush()
        removal = await memory.removal()
        gone = await removal.forget(7, [(await memory.get_facts(7))[0].id])
        await removal.forget(7, (), [said], joining=gone.token)
        await memory.flush()
        assert left_of(data_dir, "Zagorsk") == ["Zagorsk"], "it may still be undone"
        hands.turn(seconds=61)
        assert not await removal.undo(7, gone.token)
        await memory.flush()
        assert left_of(data_dir, "Evlampia", "Zagorsk", "evlampia", "zagorsk") == []
        assert left_of(data_dir, "train") == ["train"]
        assert (await memory.get_memory_stats(7))["vector_documents"] == 30
        index = (await memory.engine())._parts.chroma
        assert index is not None
        assert list((await index.collections()).values()) == [30]
    assert left_of(data_dir, "Evlampia", "Zagorsk") == []


async def test_an_orderly_end_leaves_nothing_either(
    server: ModelServer, hands: Hands, data_dir: Path
) -> None:
    async with opened(server, hands, data_dir) as memory:
        said = await told(memory, server, "I live in Zagorsk", lives("Zagorsk"))
        gone = await (await memory.removal()).forget(7, [(await memory.get_facts(7))[0].id], [said])
    assert left_of(data_dir, "Zagorsk", "zagorsk") == []
    async with opened(server, hands, data_dir) as memory:
        assert not await (await memory.removal()).undo(7, gone.token)
        assert await contents(memory, every=True) == []
        assert await consistent(memory, data_dir)


async def test_what_is_meant_is_found_by_words_and_by_meaning(
    server: ModelServer, hands: Hands, data_dir: Path
) -> None:
    async with opened(server, hands, data_dir, HybridMemoryManager) as memory:
        for text in ("I live in Angarsk", "I am allergic to shrimps", "I like green tea", "I have two cats"):
            await memory.remember(7, text)
        await memory.flush()
        removal = await memory.removal()

        async def found(what: str) -> Sequence[str]:
            return [one.text for one in await removal.candidates(7, what)]

        assert await found("angarsk") == ["I live in Angarsk"]
        assert await found("my cats") == ["I have two cats"]
        assert await found("I like green tea") == ["I like green tea"]
        assert (await found("seafood allergy"))[:1] == ["I am allergic to shrimps"]
        assert await found("quantum chromodynamics") == []


async def test_whoever_is_erased_takes_tombstones_and_undo_along(
    memory: MemoryManager, server: ModelServer
) -> None:
    await told(memory, server, "I live in Angarsk", lives("Angarsk"))
    removal = await memory.removal()
    gone = await removal.forget(7, [(await memory.get_facts(7))[0].id])
    erasure = await memory.begin_erasure(7)
    assert erasure is not None
    assert (await memory.erased(erasure))["left"] == 0
    db = await database(memory)
    assert await db.read(registry.people) == []
    assert not await removal.undo(7, gone.token)
    assert await db.read(lambda c: c.execute("SELECT count(*) FROM tombstone_marks").fetchone()) == (0,)
