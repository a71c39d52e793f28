"""A conversation longer than the context: summaries with the exact values, and prompts that stay small."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from keepsake.manager import MemoryManager
from keepsake.settings import LOCAL_MODEL, Settings, load_settings
from tests.cli.program import bot
from tests.clocks import START, Hands
from tests.model_server import MODEL, ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def long_settings(data_dir: Path, server: ModelServer) -> Settings:
    return load_settings(
        data_dir=data_dir,
        embedding_model="none",
        openai_base_url=server.url,
        openai_model=MODEL,
        fact_extraction_every=10_000,
    )


async def talk(memory: MemoryManager, begin: int, end: int) -> None:
    for number in range(begin, end):
        role = "assistant" if number % 2 else "user"
        text = "all right" if number % 2 else f"the parcel of day {number} weighs {1000 + number} grams"
        await memory.save_message(
            7, role, text, created_at=START + timedelta(minutes=number), key=f"key{number}"
        )
    await memory.flush()


def summary_section(block: str) -> str:
    return block.partition("📝 SUMMARY:\n")[2].partition("💬 STM")[0]


async def test_older_messages_become_summaries_made_from_messages_alone(
    server: ModelServer, long_settings: Settings
) -> None:
    async with MemoryManager(long_settings) as memory:
        await talk(memory, 0, 59)
        assert server.summaries() == []
        await talk(memory, 59, 61)
        (first,) = server.summaries()
        conversation = first["messages"][-1]["content"]
        assert "2026-03-01 user: the parcel of day 0 weighs 1000 grams" in conversation
        assert "day 38" in conversation and "day 40" not in conversation
        block = await memory.get_context(7, "what does the parcel weigh?")
        shown = summary_section(block)
        assert shown.startswith("2026-03-01: They spoke of ")
        assert all(str(1000 + number) in shown for number in range(0, 40, 2))
        await talk(memory, 61, 181)
        assert len(server.summaries()) == 4
        assert all("They spoke of" not in body["messages"][-1]["content"] for body in server.summaries())
        block = await memory.get_context(7, "which parcel weighs 1006 grams?")
        assert [line[:10] for line in summary_section(block).splitlines()] == ["2026-03-01"] * 4
        assert (
            "day 6 weighs 1006" in block.partition("🔍 RAG")[2]
        )  # the messages stay where recall finds them
        assert (await memory.get_memory_stats(7))["total_messages"] == 181


async def test_a_summary_that_lost_a_number_is_refused_and_asked_for_once_more(
    server: ModelServer, long_settings: Settings
) -> None:
    lossy = {"do": "json", "value": {"summary": "They spoke of parcels."}, "for": "summary"}
    server.script(lossy, lossy)
    async with MemoryManager(long_settings) as memory:
        await talk(memory, 0, 60)
        assert len(server.summaries()) == 2
        assert "Your last summary lost: 0, 1000, 2, 1002" in server.summaries()[1]["messages"][-1]["content"]
        shown = summary_section(await memory.get_context(7, "parcels?"))
    # Each message, condensed as in the LTM; the first stands behind the date.
    assert shown.splitlines()[0] == "2026-03-01: User: the parcel of day 0 weighs 1000 grams"
    assert shown.splitlines()[1] == "  Assistant: all right"
    assert len(shown.splitlines()) == 40


async def test_a_summary_waits_for_a_model_that_is_down(server: ModelServer, long_settings: Settings) -> None:
    server.script({"do": "status", "status": 401, "for": "summary"})
    clock = Hands()
    async with MemoryManager(long_settings, clock=clock) as memory:
        await talk(memory, 0, 60)
        assert "SUMMARY" not in await memory.get_context(7, "parcels?")
        clock.now += timedelta(minutes=1)
        await memory.flush()
        assert "SUMMARY" in await memory.get_context(7, "parcels?")


async def test_an_edited_message_makes_its_summary_anew(server: ModelServer, long_settings: Settings) -> None:
    async with MemoryManager(long_settings) as memory:
        await talk(memory, 0, 60)
        await memory.edit_message(7, "key4", "the parcel of day 4 weighs 9999 grams")
        await memory.flush()
        shown = summary_section(await memory.get_context(7, "parcels?"))
        assert "9999" in shown and "1004" not in shown
        assert len(server.summaries()) == 2


async def test_with_no_model_the_messages_are_condensed(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, embedding_model="none", summary_messages=10)
    async with MemoryManager(settings) as memory:
        await talk(memory, 0, 30)
        shown = summary_section(await memory.get_context(7, "parcels?"))
        assert shown.splitlines()[0] == "2026-03-01: User: the parcel of day 0 weighs 1000 grams"
        assert len(shown.splitlines()) == 10


async def test_a_command_leaves_summaries_to_the_local_model(data_dir: Path) -> None:
    settings = load_settings(
        data_dir=data_dir, embedding_model="none", summary_messages=10, local_model=LOCAL_MODEL
    )
    async with MemoryManager(settings, serving=False) as memory:
        await talk(memory, 0, 30)
        assert summary_section(await memory.get_context(7, "parcels?")) == ""
    async with MemoryManager(settings) as memory:
        await memory.flush()
        assert "parcel of day 0" in summary_section(await memory.get_context(7, "parcels?"))


async def test_prompts_do_not_grow_with_the_conversation(
    server: ModelServer, long_settings: Settings
) -> None:
    async def size(memory: MemoryManager) -> int:
        return sum(tokens for _, tokens in (await memory.recall(7, "the parcel?")).sections)

    async with MemoryManager(long_settings) as memory:
        await talk(memory, 0, 260)
        at_260 = await size(memory)
        await talk(memory, 260, 460)
        assert await size(memory) < 1.1 * at_260


def test_a_request_that_is_too_long_is_made_again_and_nobody_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next process knows from the start how much this model takes."""
    with ModelServer(most_words=420) as server:
        for name, value in {
            "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": MODEL, "ANSWER_TOKENS": "100", "EMBEDDING_MODEL": "none",
            "FACT_EXTRACTION_EVERY": "1000", "LONG_MESSAGE": "5000",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        lines = [f"{number} " + "the ferry leaves the harbour at seven " * 8 for number in range(6)]
        out = bot("chat", stdin="\n".join(lines)).out
        asked = [
            len(" ".join(turn["content"] for turn in body["messages"]).split()) for body in server.chats()
        ]
        refused = [words for words in asked if words > 420]
        assert len(refused) == 1
        assert len(asked) == len(lines) + 1
        assert "model" not in out
        before = len(server.chats())
        assert bot("chat", stdin="and when does it come back?").status == 0
        assert len(server.chats()) == before + 1


async def test_an_extraction_that_was_too_long_is_made_again_with_less(
    server: ModelServer, long_settings: Settings
) -> None:
    server.script({"do": "status", "status": 400, "code": "context_length_exceeded", "for": "structured"})
    clock = Hands()
    settings = long_settings.model_copy(update={"fact_extraction_every": 5, "long_message": 5000})
    async with MemoryManager(settings, clock=clock) as memory:
        for number in range(12):
            role = "assistant" if number % 2 else "user"
            await memory.save_message(7, role, f"{number}: I live in Angarsk, " + "and so on " * 100)
        await memory.flush()
        assert await memory.get_facts(7) == []
        clock.now += timedelta(minutes=1)
        await memory.flush()
        assert [fact.content for fact in await memory.get_facts(7)] == ["Lives in Angarsk"]
    long, short = (len(str(body["messages"])) for body in server.extractions()[:2])
    assert short < 0.8 * long
