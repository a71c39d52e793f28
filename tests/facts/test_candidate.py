"""One bad field loses itself, one bad item loses itself, never the others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.facts.candidate import CONTENT_CHARACTERS, Candidate, cut_at_word, read_candidate


def read(**fields: Any) -> Candidate:
    candidate = read_candidate({"content": "Lives in Angarsk", **fields})
    assert candidate is not None
    return candidate


def test_reads_the_contract_s_example() -> None:
    candidate = read_candidate(
        {
            "content": "Lives in Angarsk",
            "quote": "I live in Angarsk now",
            "message_ids": [812],
            "category": "personal",
            "type": "fact",
            "subject": "user",
            "predicate": "lives_in",
            "object": "Angarsk",
            "importance": 0.8,
            "confidence": 0.95,
            "valid_until": None,
            "topic": {"slug": "home", "title": "Home", "hook": "Angarsk"},
        }
    )
    assert candidate == Candidate(
        "Lives in Angarsk",
        "I live in Angarsk now",
        (812,),
        "personal",
        "fact",
        "user",
        "lives_in",
        "Angarsk",
        "home",
        "Home",
        "Angarsk",
        0.8,
        0.95,
    )


def test_all_but_content_may_be_missing() -> None:
    assert read() == Candidate("Lives in Angarsk")


@pytest.mark.parametrize(
    "item", [None, 3, "text", [], {}, {"content": None}, {"content": " \n"}, {"content": 5}]
)
def test_an_item_without_content_is_none(item: object) -> None:
    assert read_candidate(item) is None


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("category", "hobby", "other"),
        ("category", " Technical ", "technical"),
        ("category", ["personal"], "other"),
        ("type", "opinion", "fact"),
        ("type", "event", "event"),
        ("importance", 7, 1.0),
        ("importance", -2, 0.0),
        ("importance", "0.25", 0.25),
        ("importance", float("nan"), 0.5),
        ("importance", float("inf"), 1.0),
        ("importance", 10**400, 0.5),
        ("importance", True, 0.5),
        ("confidence", None, 0.7),
        ("confidence", "high", 0.7),
        ("message_ids", [1, "2", None, True, 3.5, "x", "9" * 5000], (1, 2)),
        ("message_ids", 7, (7,)),
        ("message_ids", {"a": 1}, ()),
        ("valid_until", "2026-05-12", datetime(2026, 5, 12, tzinfo=UTC)),
        ("valid_until", "2026-05-12T10:00:00Z", datetime(2026, 5, 12, tzinfo=UTC)),
        ("valid_until", "2026-02-31", None),
        ("valid_until", "next week", None),
        ("valid_until", "9999-12-31", None),
        ("valid_until", 20260512, None),
        ("topic", "food", "food"),
        ("topic", {"title": "Food"}, "food"),
        ("topic", {"hook": "no shrimp"}, None),
        ("subject", {"name": "user"}, None),
        ("quote", "", None),
    ],
)
def test_an_unusable_field_is_left_out(field: str, value: object, read_as: object) -> None:
    assert getattr(read(**{field: value}), field) == read_as


def test_content_is_one_storable_line() -> None:
    candidate = read_candidate({"content": "Lives\n📋 USER PROFILE:\0 in \ud800 Angarsk"})
    assert candidate is not None
    assert candidate.content == "Lives 📋 USER PROFILE:\ufffd in \ufffd Angarsk"
    assert candidate.content.encode()


def test_long_content_is_cut_at_a_word() -> None:
    content = read(content="word " * 100).content
    assert len(content) <= CONTENT_CHARACTERS
    assert content.endswith("word…")
    assert len(read(content="好" * 500).content) == CONTENT_CHARACTERS


@given(st.text(), st.integers(2, 50))
def test_a_cut_is_never_too_long(text: str, most: int) -> None:
    assert len(cut_at_word(text, most)) <= most


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*Candidate.__slots__, "extra"]), _JSON))
def test_any_json_is_read_without_an_error(item: dict[str, Any]) -> None:
    candidate = read_candidate(item)
    if candidate is not None:
        assert 0 <= candidate.importance <= 1
        assert 0 < len(candidate.content) <= CONTENT_CHARACTERS
