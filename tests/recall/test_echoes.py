"""Results that only repeat."""

from __future__ import annotations

from datetime import UTC, datetime

from keepsake.models import Message
from keepsake.recall.echoes import without_echoes


def found(*said: tuple[str, float]) -> list[tuple[Message, float]]:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    return [(Message(n, 7, "user", text, moment, 1), score) for n, (text, score) in enumerate(said)]


def shown(results: list[tuple[Message, float]]) -> list[tuple[str, float]]:
    return [(message.content, score) for message, score in results]


def test_a_question_asked_before_is_no_answer() -> None:
    results = found(
        ("Where is the key?", 0.9), ("The key hangs behind the clock", 0.5), ("where is the key", 0.8)
    )
    assert shown(without_echoes(results, "where is the KEY ?", 5)) == [
        ("The key hangs behind the clock", 0.5),
        ("Where is the key?", 0.5),
    ]
    assert shown(without_echoes(results[:1], "where is the KEY ?", 5)) == [("Where is the key?", 0.9)]


def test_words_that_are_looked_for_are_found_as_they_were_said() -> None:
    results = found(("blue bicycle", 0.9), ("My bicycle is blue", 0.5))
    assert shown(without_echoes(results, "Blue bicycle", 5)) == [
        ("blue bicycle", 0.9),
        ("My bicycle is blue", 0.5),
    ]


def test_the_same_words_are_shown_once_with_the_best_score() -> None:
    results = found(("I like tea", 0.9), ("I like tea!", 0.8), ("I like coffee", 0.7))
    assert shown(without_echoes(results, "tea", 5)) == [("I like tea", 0.9), ("I like coffee", 0.7)]


def test_signs_alone_are_told_apart() -> None:
    results = found(("🙂", 0.9), ("🙁", 0.8))
    assert len(without_echoes(results, "?", 5)) == 2


def test_chinese_and_vietnamese_are_compared_as_they_stand() -> None:
    results = found(("我住在北京。", 0.9), ("我住在北京", 0.8), ("Tôi ăn tôm", 0.7), ("tôi ăn tom", 0.6))
    assert len(without_echoes(results, "x", 5)) == 3
