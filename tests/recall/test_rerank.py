"""The order that a reranker gives, and recall without one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime

import pytest

from keepsake.errors import RerankerError
from keepsake.models import Message
from keepsake.recall import rerank
from keepsake.recall.question import Question
from keepsake.recall.rerank import Reranking, reordered

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def found(*contents: str, sender: str | None = None) -> list[tuple[Message, float]]:
    return [
        (Message(number, 7, "user", content, DAY, 1, sender), round(1 - number / 10, 1))
        for number, content in enumerate(contents)
    ]


class ByLength:
    """Prefers short texts; keeps what it was asked."""

    def __init__(self, failure: Exception | None = None, seconds: float = 0.0) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.failure = failure
        self.seconds = seconds

    def prepare(self) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(None)
        return done

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return [-float(len(text)) for text in texts]

    async def close(self) -> None:
        """Nothing runs."""


def contents(results: list[tuple[Message, float]]) -> list[str]:
    return [message.content for message, _ in results]


async def test_the_first_results_are_ordered_anew_and_scores_still_fall() -> None:
    reranking = Reranking(ByLength(), 3)
    results = await reranking.order(Question(7, "tea"), [], found("four", "xx", "one", "y"), 4)
    assert contents(results) == ["xx", "one", "four", "y"]
    assert [score for _, score in results] == [1.0, 0.9, 0.8, 0.7]


async def test_what_stands_behind_the_limit_can_come_before_it() -> None:
    reranking = Reranking(ByLength(), 20)
    assert (reranking.needed(2), reranking.needed(50), Reranking().needed(2)) == (20, 50, 2)
    results = await reranking.order(Question(7, "tea"), [], found("four", "three", "a", "bb"), 2)
    assert contents(results) == ["a", "bb"]


async def test_the_question_asked_before_stays_behind_its_answer() -> None:
    results = await Reranking(ByLength(), 20).order(
        Question(7, "Tea?"), [], found("I drink green tea", "tea?"), 2
    )
    assert contents(results) == ["I drink green tea", "tea?"]


async def test_it_is_given_the_turns_before_and_who_spoke() -> None:
    model = ByLength()
    await Reranking(model, 2).order(Question(7, "and when?"), ["the trip"], found("a", "b", sender="Ann"), 2)
    assert model.asked == [("the trip\nand when?", ["Ann: a", "Ann: b"])]


async def test_without_one_everything_stays_as_it_is() -> None:
    results = found("four", "xx", "y")
    assert await Reranking().order(Question(7, "tea"), [], results, 2) == results[:2]
    model = ByLength()
    assert await Reranking(model).order(Question(7, "tea"), [], results[:1], 2) == results[:1]
    assert model.asked == []


async def test_where_it_fails_or_takes_too_long_recall_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    results = found("four", "xx", "y")
    failing = Reranking(ByLength(RerankerError("gone")))
    assert await failing.order(Question(7, "tea"), [], results, 2) == results[:2]
    monkeypatch.setattr(rerank, "PATIENCE_SECONDS", 0.01)
    with caplog.at_level(logging.WARNING):
        slow = Reranking(ByLength(seconds=30))
        assert await slow.order(Question(7, "tea"), [], results, 2) == results[:2]
    assert "RERANKER_CANDIDATES" in caplog.text


def test_equal_scores_leave_the_order() -> None:
    results = found("a", "b", "c")
    assert reordered(results, [0.5, 0.5, 0.5]) == results
    assert contents(reordered(results, [0.1, 0.3, 0.2])) == ["b", "c", "a"]
