"""Facts from messages to the store and out again, through the manager, with a model behind a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepsake.index.chroma import ChromaIndex
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.models import Fact
from keepsake.settings import load_settings
from tests.clocks import START, Hands
from tests.engine.tools import Counting
from tests.model_server import MODEL, ModelServer

LIVES = {"category": "personal", "subject": "user", "predicate": "lives_in", "confidence": 0.9}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(facts=lambda _: {"facts": []}) as server:
        yield server


@pytest.fixture
def hands() -> Hands:
    return Hands()


def opened(server: ModelServer, hands: Hands, data_dir: Path, **settings: Any) -> MemoryManager:
    chosen = load_settings(openai_base_url=server.url, openai_model=MODEL, data_dir=data_dir, **settings)
    return MemoryManager(chosen, clock=hands)


@pytest.fixture
async def memory(server: ModelServer, hands: Hands, data_dir: Path) -> AsyncIterator[MemoryManager]:
    async with opened(server, hands, data_dir, fact_extraction_every=1) as memory:
        yield memory


async def told(
    memory: MemoryManager, server: ModelServer, text: str, *facts: dict[str, Any], user: int = 7
) -> int:
    """Says something of which the model finds these facts; the id of the message."""
    server.script({"do": "json", "value": {"facts": [{"quote": text, **fact} for fact in facts]}})
    message = await memory.save_message(user, "user", text)
    await memory.flush()
    return message.id


def contents(facts: list[Fact]) -> list[str]:
    return [fact.content for fact in facts]


async def test_a_move_ends_the_old_home_and_says_when(
    memory: MemoryManager, server: ModelServer, hands: Hands
) -> None:
    first = await told(
        memory, server, "I live in Angarsk", {"content": "Lives in Angarsk", "object": "Angarsk", **LIVES}
    )
    hands.turn(days=60)
    second = await told(
        memory, server, "I moved to Irkutsk", {"content": "Lives in Irkutsk", "object": "Irkutsk", **LIVES}
    )
    assert contents(await memory.get_facts(7)) == ["Lives in Irkutsk"]
    old, new = await memory.get_facts(7, all_statuses=True)
    assert (old.status, old.valid_from, old.valid_until, old.recorded_until) == (
        "superseded",
        START,
        hands.now,
        hands.now,
    )
    assert (new.valid_from, new.valid_until, new.message_ids) == (hands.now, None, (second,))
    changes = [(c.fact_id, c.what, c.made_by, c.other_id) for c in await memory.get_fact_history(7)]
    assert changes == [
        (old.id, "learned", "extraction", None),
        (new.id, "learned", "extraction", None),
        (old.id, "superseded", "extraction", new.id),
    ]
    assert old.message_ids == (first,)


async def test_agreement_inherits_hits_sources_and_the_earliest_date(
    memory: MemoryManager, server: ModelServer, hands: Hands
) -> None:
    first = await told(
        memory, server, "I live in Angarsk", {"content": "Lives in Angarsk", "object": "Angarsk", **LIVES}
    )
    hands.turn(days=5)
    second = await told(memory, server, "my city is Angarsk", {"content": "The user's home is Angarsk"})
    (fact,) = await memory.get_facts(7)
    assert (fact.content, fact.message_ids) == ("The user's home is Angarsk", (first, second))
    assert (fact.created_at, fact.valid_from, fact.updated_at) == (START, START, hands.now)
    assert fact.confidence > 0.9
    assert [one.status for one in await memory.get_facts(7, all_statuses=True)] == ["merged", "active"]


async def test_a_message_that_is_read_twice_changes_nothing(
    memory: MemoryManager, server: ModelServer
) -> None:
    fact = {"content": "Lives in Angarsk", "object": "Angarsk", "quote": "I live in Angarsk", **LIVES}
    source = await told(memory, server, "I live in Angarsk", fact)
    await told(memory, server, "nice weather", {**fact, "message_ids": [source]})
    (known,) = await memory.get_facts(7, all_statuses=True)
    assert (known.confidence, known.message_ids) == (0.9, (source,))


async def test_writers_at_once_neither_lose_nor_double(memory: MemoryManager, server: ModelServer) -> None:
    for _ in range(3):
        server.script(
            {
                "do": "json",
                "value": {"facts": [{"content": "Lives in Angarsk", "quote": "I live in Angarsk"}]},
            }
        )
    await asyncio.gather(
        *(memory.save_message(user, "user", "I live in Angarsk") for user in range(1, 4)),
        *(
            memory.remember(user, text)
            for user in range(1, 4)
            for text in ("I live in Angarsk", "I like tea", "Likes tea")
        ),
    )
    await memory.flush()
    for user in range(1, 4):
        facts = await memory.get_facts(user)
        assert sorted((fact.predicate, fact.vital) for fact in facts) == [("likes", True), ("lives_in", True)]


async def test_events_end_by_themselves_and_vital_facts_do_not(
    memory: MemoryManager, server: ModelServer, hands: Hands
) -> None:
    visit = {"content": "Sister Ana visits on 2026-03-14", "type": "event", "valid_until": "2026-03-14"}
    pill = {"content": "Allergic to pollen", "valid_until": "2026-03-14"}
    await told(memory, server, "Ana visits on the 14th. I am allergic to pollen in March", visit, pill)
    hands.now = datetime(2026, 3, 14, 23, 59, tzinfo=UTC)
    await memory.flush()
    assert len(await memory.get_facts(7)) == 2
    hands.turn(minutes=2)
    assert "visits on 2026" not in await memory.get_context(
        7, "who visits?"
    )  # at once, before any job has run
    await memory.flush()
    assert contents(await memory.get_facts(7)) == ["Allergic to pollen"]
    assert (await memory.get_facts(7, all_statuses=True))[0].status == "expired"


async def test_passwords_keys_and_cards_are_never_facts_and_masked_where_recalled(
    memory: MemoryManager, server: ModelServer
) -> None:
    secret = "my bank password is Hunter-22 and my card is 4111 1111 1111 1111"
    await told(
        memory,
        server,
        secret,
        {"content": "Bank password is Hunter-22"},
        {"content": "Pays with 4111 1111 1111 1111"},
    )
    assert await memory.get_facts(7, all_statuses=True) == []
    assert await memory.remember(7, secret) is None
    for number in range(25):
        await memory.save_message(7, "user", f"the weather on day {number} is fine")
    block = await memory.get_context(7, "what is my bank password?")
    assert "my bank password is •••" in block
    assert "Hunter" not in block
    assert "4111" not in block


async def test_a_fact_in_another_language_is_kept_in_the_users_words(
    memory: MemoryManager, server: ModelServer
) -> None:
    await told(memory, server, "я переехал в Казань", {"content": "Moved to Kazan"})
    assert contents(await memory.get_facts(7)) == ["я переехал в Казань"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("nice weather", 0),
        ("remember that I have an exam", 1),
        ("нет, я переехал в Омск", 1),
        ("从现在起叫我小李", 1),
        ("từ nay tôi ăn chay", 1),
        ("a" * 200, 1),
        ("a" * 199, 0),
    ],
)
async def test_a_long_message_or_a_signal_is_read_at_once(
    server: ModelServer, hands: Hands, data_dir: Path, text: str, asked: int
) -> None:
    async with opened(server, hands, data_dir) as memory:
        await memory.save_message(7, "user", text)
        await memory.flush()
        assert len(server.extractions()) == asked


async def test_a_quiet_user_is_read_after_five_minutes_also_by_the_next_process(
    server: ModelServer, hands: Hands, data_dir: Path
) -> None:
    async with opened(server, hands, data_dir) as memory:
        await memory.save_message(7, "user", "my cat is called Tom")
        hands.turn(minutes=4)
        await memory.save_message(7, "user", "and she is grey")  # begins the five minutes anew
        hands.turn(minutes=4)
        await memory.flush()
        assert server.extractions() == []
    hands.turn(minutes=2)
    async with opened(server, hands, data_dir) as memory:
        await memory.flush()
        assert len(server.extractions()) == 1
        hands.turn(days=1)
        await memory.flush()
    assert len(server.extractions()) == 1  # nothing is unread


async def test_what_is_remembered_by_hand_is_vital_and_needs_no_model(data_dir: Path) -> None:
    async with MemoryManager(load_settings(data_dir=data_dir)) as memory:
        fact = await memory.remember(7, "that I keep the spare key at Olga's")
        assert fact is not None
        assert (fact.content, fact.origin, fact.vital) == ("I keep the spare key at Olga's", "by_hand", True)
        assert await memory.get_facts(7) == [fact]
        assert "spare key" in await memory.get_context(7, "hello")


async def test_vital_facts_come_first_then_what_the_question_is_about(
    server: ModelServer, hands: Hands, data_dir: Path
) -> None:
    chosen = {"facts_in_prompt": 2, "topic_facts": 0}
    async with opened(server, hands, data_dir, fact_extraction_every=1, **chosen) as memory:
        said = [
            {"content": f"Likes {thing}", "quote": "I like things"}
            for thing in ("sushi", "opera", "hiking trips")
        ]
        await told(
            memory,
            server,
            "I like things. I am allergic to nuts",
            *said,
            {"content": "Allergic to nuts", "quote": "I am allergic to nuts"},
        )
        block = await memory.get_context(7, "which opera should I see?")
        shown = [line for line in block.splitlines() if line.startswith("- ") and "(confidence" in line]
        assert sorted(line.split(" (")[0] for line in shown) == ["- Allergic to nuts", "- Likes opera"]


async def test_what_is_active_no_longer_leaves_the_index(
    server: ModelServer, hands: Hands, data_dir: Path
) -> None:
    settings = load_settings(
        openai_base_url=server.url, openai_model=MODEL, data_dir=data_dir, fact_extraction_every=1
    )
    chroma = ChromaIndex(settings.vector_dir)
    async with HybridMemoryManager(settings, embedder=Counting("tiny"), chroma=chroma, clock=hands) as memory:
        for town in ("Angarsk", "Irkutsk", "Omsk"):
            await told(
                memory, server, f"I live in {town}", {"content": f"Lives in {town}", "object": town, **LIVES}
            )
        await memory.flush()
        assert (await memory.get_memory_stats(7))["vector_documents"] == 3 + 1
        assert list((await chroma.collections()).values()) == [3 + 1]
