"""Whatever a model writes: facts come of it, or it is refused, and the next messages are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.errors import KeepsakeError
from keepsake.facts.extract import ground_facts, read_facts
from keepsake.facts.normalise import normalise
from keepsake.facts.reconcile import Known, reconcile
from keepsake.index.terms import analyse
from keepsake.llm.form import json_object
from keepsake.manager import MemoryManager
from keepsake.models import FactDraft, Message
from keepsake.settings import load_settings
from tests.facts.known import fact
from tests.fuzz.strategies import LONG, QUICK, changed, deep, in_soak, texts, values
from tests.model_server import MODEL, ModelServer

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = ["I live in Angarsk since 2019", "У меня аллергия на креветки", "tôi ăn chay", "我住在北京，不吃虾"]
WINDOW = [
    Message(number, 7, "user", text, START + timedelta(minutes=number), 1)
    for number, text in enumerate(SAID, 1)
]
WHOLE = {
    "facts": [
        {
            "content": text,
            "quote": text,
            "message_ids": [number],
            "category": "personal",
            "type": "event",
            "subject": "user",
            "predicate": "lives_in",
            "object": text.split()[-1],
            "importance": 0.8,
            "confidence": 0.9,
            "valid_until": "2026-05-01",
            "topic": {"slug": "food", "title": "Food", "hook": "no shrimp"},
        }
        for number, text in enumerate(SAID, 1)
    ]
}
answers = st.one_of(changed(WHOLE), st.fixed_dictionaries({"facts": st.lists(values, max_size=5)}), values)


def drafts_of(answer: Any) -> list[FactDraft]:
    """The way of an answer through the pure parts; nothing of one of the wrong form, which is asked for once more."""
    try:
        value = json_object(answer if isinstance(answer, str) else json.dumps(answer))
        items = read_facts(value)
    except ValueError:
        return []
    known = Known([fact(1, "Lives in Angarsk", 1), fact(2, "Allergic to shrimp", 2)])
    drafts = [normalise(draft) for draft in ground_facts(items, WINDOW, terms=analyse).drafts]
    return [reconcile(draft, known).draft for draft in drafts]


def can_be_kept(draft: FactDraft) -> bool:
    """Is it within the bounds of what is stored, from messages that there are, in words that stand in one?"""
    said = [_plain(message.content) for message in WINDOW]
    return (
        0 <= draft.confidence <= 1
        and 0 <= draft.importance <= 1
        and 0 < len(draft.content) <= 200
        and bool(draft.message_ids)
        and set(draft.message_ids) <= {message.id for message in WINDOW}
        and (draft.quote is None or any(_plain(draft.quote) in text for text in said))
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def test_a_whole_answer_gives_its_facts() -> None:
    assert [draft.content for draft in drafts_of(WHOLE)] == SAID
    assert all(map(can_be_kept, drafts_of(WHOLE)))


@QUICK
@given(answers)
def test_an_answer_is_read_or_refused(answer: Any) -> None:
    assert all(map(can_be_kept, drafts_of(answer)))


@QUICK
@given(st.one_of(texts, deep, st.builds(str.__add__, texts, st.just(json.dumps(WHOLE)))))
def test_a_text_is_read_or_refused(answer: str) -> None:
    assert all(map(can_be_kept, drafts_of(answer)))


@pytest.mark.soak
@pytest.mark.timeout(3000)
@LONG
@given(st.one_of(answers, texts, deep))
def test_answers_for_longer(answer: Any) -> None:
    assert all(map(can_be_kept, drafts_of(answer)))


words = st.sampled_from(
    [
        "I",
        "not",
        "no",
        "longer",
        "live",
        "in",
        "Angarsk",
        "не",
        "живу",
        "ăn",
        "không",
        "不",
        "吃",
        "虾",
        ",",
        ".",
        "42",
        "my",
        "wife",
        "Ann's",
        "is",
    ]
)


@QUICK
@given(st.lists(st.one_of(words, texts), min_size=1, max_size=12), st.one_of(st.none(), texts), texts)
def test_any_sentence_is_normalised_and_compared(
    parts: list[str], predicate: str | None, object_: str
) -> None:
    said = " ".join(parts)[:200]
    draft = normalise(FactDraft(said, (3,), predicate=predicate, object=object_, subject="user"))
    decision = reconcile(draft, Known([fact(1, "Lives in Angarsk", 1), fact(2, said, 2)]))
    ended = {one.id for one, _ in decision.ended}
    assert ended.isdisjoint(one.id for one in decision.merged)
    assert decision.what in ("new", "agrees") or not (ended or decision.merged)


@pytest.mark.parametrize("count", [12, pytest.param(300, marks=in_soak)])
async def test_the_store_takes_what_is_read_and_goes_on(count: int, data_dir: Path) -> None:
    """Through a real endpoint into the real store; afterwards a good answer is still understood."""
    drawn: list[str] = []

    @QUICK
    @given(st.one_of(answers.map(json.dumps), texts, deep))
    def draw(answer: str) -> None:
        if len(drawn) < count:
            drawn.append(answer.encode("utf-8", "replace").decode())

    while len(drawn) < count:
        draw()
    with ModelServer() as server:
        settings = load_settings(
            openai_base_url=server.url, openai_model=MODEL, data_dir=data_dir, fact_extraction_every=1
        )
        async with MemoryManager(settings) as memory:
            for number, answer in enumerate(drawn):
                server.script({"do": "text", "text": answer}, {"do": "text", "text": answer})
                await memory.save_message(7, "user", f"{SAID[number % len(SAID)]} {number}")
                await memory.flush()
                while server.waiting:  # it was of the right form at once
                    server.take({"messages": [{"content": "JSON Schema"}], "model": MODEL}, {})
            try:
                await memory.save_message(7, "user", "my name is Ivan Petrov")
                await memory.flush()
            except KeepsakeError as error:
                pytest.fail(str(error))
            assert "Name is Ivan Petrov" in [one.content for one in await memory.get_facts(7)]
