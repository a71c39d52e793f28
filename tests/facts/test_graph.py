"""A person's names are one in recall and profile while what says so holds, and not a moment longer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keepsake.facts.graph import Entity, entities, widened
from keepsake.facts.roles import roles
from keepsake.index.terms import analyse
from keepsake.manager import HybridMemoryManager, MemoryManager
from keepsake.models import Fact
from keepsake.recall.question import Wider
from keepsake.settings import load_settings
from tests.facts.known import NOW, fact
from tests.model_server import MODEL, ModelServer

XIAOYA: dict[str, Any] = {
    "content": "Girlfriend is Xiaoya",
    "quote": "my girlfriend Xiaoya",
    "subject": "user",
    "predicate": "partner",
    "object": "Xiaoya",
    "confidence": 0.9,
}
WEATHER = [f"the weather on day {number} is fine, nothing else to tell" for number in range(25)]


def who(known: list[Fact], said: dict[int, str]) -> list[tuple[list[str], list[str]]]:
    return [(sorted(one.names), sorted(role.name for role in one.roles)) for one in entities(known, said)]


def partner(number: int, name: str, message: int, **more: Any) -> Fact:
    fields = {"subject": "user", "predicate": "partner", "object": name} | more
    return fact(number, fields.pop("content", f"Girlfriend is {name}"), message, **fields)


def test_a_fact_and_its_message_make_an_entity() -> None:
    said = {10: "my girlfriend Xiaoya likes tea"}
    assert who([partner(1, "Xiaoya", 10)], said) == [(["Xiaoya"], ["girlfriend"])]
    other = fact(2, "Girlfriend Xiaoya likes tea", 10, subject="Xiaoya", predicate="likes", object="tea")
    assert who([other], said) == [(["Xiaoya"], ["girlfriend"])]


def test_neither_alone_does() -> None:
    assert who([partner(1, "Xiaoya", 10)], {10: "Xiaoya and I are together"}) == []
    plain = fact(1, "Xiaoya likes tea", 10, subject="Xiaoya", predicate="likes", object="tea")
    assert who([plain], {10: "my girlfriend Xiaoya likes tea"}) == []
    assert who([partner(1, "Xiaoya", 10, confidence=0.5)], {10: "my girlfriend Xiaoya"}) == []
    assert who([partner(1, "Xiaoya", 10)], {}) == []  # the message was erased, or is somebody else's


def test_one_name_in_two_scripts_is_one() -> None:
    known = [partner(1, "Xiaoya", 10), partner(2, "小雅", 11, content="女朋友是小雅")]
    said = {10: "my girlfriend Xiaoya", 11: "我女朋友小雅"}
    assert who(known, said) == [(["Xiaoya", "小雅"], ["girlfriend"])]


def test_a_later_denial_or_another_partner_ends_it() -> None:
    told = fact(
        1, "Girlfriend Xiaoya lives in Lyon", 10, subject="Xiaoya", predicate="lives_in", object="Lyon"
    )
    said = {10: "my girlfriend Xiaoya lives in Lyon", 20: "my girlfriend Katya", 30: "we split up"}
    later = NOW + timedelta(days=1)
    assert who([told, partner(2, "Katya", 20, updated_at=later)], said) == [(["Katya"], ["girlfriend"])]
    ended = fact(3, "Broke up with Xiaoya", 30, subject="user", predicate="not_partner", object="Xiaoya")
    assert who([told, ended], said) == []


GIRLFRIEND = Entity(frozenset({"Xiaoya"}), frozenset({(roles()["girlfriend"], "girlfriend")}))
SISTERS = [Entity(frozenset({name}), frozenset({(roles()["sister"], "sister")})) for name in ("Ana", "Olga")]


def test_a_question_is_widened_both_ways_and_no_other() -> None:
    by_role = widened("what does my girlfriend like?", [GIRLFRIEND], analyse)
    assert by_role.wider.hint == "Xiaoya"
    assert [(one.asked, one.said) for one in by_role.wider.same] == [(("girlfriend",), ("xiaoya",))]
    by_name = widened("what does Xiaoya like?", [GIRLFRIEND], analyse)
    assert by_name.wider.hint == "girlfriend"
    in_russian = widened("что любит моя девушка?", [GIRLFRIEND], analyse)
    assert in_russian.wider.hint == "Xiaoya"
    assert widened("what does his girlfriend like?", [GIRLFRIEND], analyse).wider == Wider()
    assert widened("what do I like?", [GIRLFRIEND], analyse).wider == Wider()


def test_a_word_for_two_people_stands_for_neither() -> None:
    assert widened("where is Ana?", SISTERS, analyse).wider == Wider()
    assert widened("where is my sister?", SISTERS, analyse).wider.hint == "Ana, Olga"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(facts=lambda _: {"facts": []}) as server:
        yield server


@pytest.fixture
async def memory(server: ModelServer, data_dir: Path) -> AsyncIterator[MemoryManager]:
    settings = load_settings(
        openai_base_url=server.url, openai_model=MODEL, data_dir=data_dir, fact_extraction_every=1
    )
    async with MemoryManager(settings) as memory:
        yield memory


async def told(memory: MemoryManager, server: ModelServer, text: str, *facts: dict[str, Any]) -> None:
    server.script({"do": "json", "value": {"facts": list(facts)}})
    await memory.save_message(7, "user", text, key=text)
    await memory.flush()


async def found(memory: MemoryManager, question: str) -> list[str]:
    return [message.content for message, _ in await memory.find(7, question)]


@pytest.mark.parametrize(
    ("intro", "fact", "about_name", "about_role", "by_role", "by_name"),
    [
        (
            "my girlfriend Xiaoya came home",
            {},
            "Xiaoya adores raw tuna",
            "my girlfriend sings in a choir",
            "what food does my girlfriend adore?",
            "where does Xiaoya sing?",
        ),
        (
            "моя девушка Катя вернулась",
            {"content": "Девушку зовут Катя", "quote": "моя девушка Катя", "object": "Катя"},
            "Кате подарили гитару",
            "моя девушка поёт в хоре",
            "что подарили моей девушке?",
            "где поёт Катя?",
        ),
        (
            "bạn gái tôi Linh đã về nhà",
            {"content": "Bạn gái là Linh", "quote": "bạn gái tôi Linh", "object": "Linh"},
            "Linh mê cá ngừ sống",
            "bạn gái tôi hát trong dàn hợp xướng",
            "bạn gái tôi mê món gì?",
            "Linh hát ở đâu?",
        ),
        (
            "我女朋友小雅回家了",
            {"content": "女朋友是小雅", "quote": "我女朋友小雅", "object": "小雅"},
            "小雅最爱吃金枪鱼",
            "我女朋友在合唱团唱歌",
            "我女朋友最爱吃什么？",
            "小雅在哪里唱歌？",
        ),
    ],
    ids=["en", "ru", "vi", "zh"],
)
async def test_recall_takes_one_hop_in_both_directions(
    memory: MemoryManager,
    server: ModelServer,
    intro: str,
    fact: dict[str, Any],
    about_name: str,
    about_role: str,
    by_role: str,
    by_name: str,
) -> None:
    for text in (about_name, about_role):
        await memory.save_message(7, "user", text)
    for text in WEATHER:
        await memory.save_message(7, "assistant", text)
    await told(memory, server, intro, XIAOYA | fact)
    assert about_name in await found(memory, by_role)
    assert about_role in await found(memory, by_name)
    assert about_name in await memory.get_context(7, by_role)


async def test_without_an_alias_nothing_changes(memory: MemoryManager, server: ModelServer) -> None:
    for text in ("my girlfriend sings in a choir", "Xiaoya adores raw tuna"):
        await memory.save_message(7, "user", text)
    assert "Xiaoya adores raw tuna" not in await found(memory, "my girlfriend?")


async def test_an_alias_ends_with_an_edit_of_its_message_and_with_another_partner(
    memory: MemoryManager, server: ModelServer
) -> None:
    await told(memory, server, "Xiaoya adores raw tuna")
    await told(memory, server, "my girlfriend Xiaoya came home", XIAOYA)
    assert len(await found(memory, "my girlfriend?")) == 2
    await memory.edit_message(7, "my girlfriend Xiaoya came home", "Xiaoya came home")
    await memory.flush()  # the new text is read before the model is given another answer
    assert await found(memory, "my girlfriend?") == []
    await told(memory, server, "sorry, my girlfriend Xiaoya is back", XIAOYA)
    assert "Xiaoya adores raw tuna" in await found(memory, "my girlfriend?")
    await told(
        memory,
        server,
        "my girlfriend Katya moved in",
        XIAOYA | {"content": "Girlfriend is Katya", "quote": "my girlfriend Katya", "object": "Katya"},
    )
    assert "Xiaoya adores raw tuna" not in await found(memory, "my girlfriend?")


async def test_the_profile_prefers_facts_about_whom_the_question_names(
    server: ModelServer, data_dir: Path
) -> None:
    settings = load_settings(
        openai_base_url=server.url,
        openai_model=MODEL,
        data_dir=data_dir,
        fact_extraction_every=1,
        facts_in_prompt=2,
        topics_in_prompt=0,
        topics_per_question=0,
    )
    others = [
        {"content": f"Tom likes {thing}", "quote": "likes"} for thing in ("opera", "hiking", "trains", "tea")
    ]
    async with HybridMemoryManager(settings) as memory:
        text = "my girlfriend Xiaoya plays the cello. Tom likes opera, hiking, trains and tea"
        cello = {
            "content": "Xiaoya plays the cello",
            "subject": "Xiaoya",
            "predicate": "plays",
            "object": "cello",
        }
        await told(memory, server, text, *others, XIAOYA, cello)
        block = await memory.get_context(7, "which music does my girlfriend like?")
    shown = [line[2:].split(" (")[0] for line in block.splitlines() if line.startswith("- ")]
    assert sorted(shown) == ["Girlfriend is Xiaoya", "Xiaoya plays the cello"]
