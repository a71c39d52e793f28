"""Ranking: dated, hand-made cases and properties of the pure functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.recall.ranking import CosineScale, TermMatches, bm25, combine, rank

unit = st.floats(0, 1)


def term(*places: tuple[int, int, int]) -> TermMatches:
    """Matches from (message id, count, length) triples."""
    columns = np.array(places, dtype=np.int64).reshape(-1, 3)
    return TermMatches(columns[:, 0], columns[:, 1], columns[:, 2])


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    rare, common = term((1, 1, 5)), term(*[(i, 1, 5) for i in range(2, 40)])
    scores = bm25([rare, common], [1, 38], 100, 5.0)
    assert scores[1] > scores[2]


def test_more_of_the_question_is_better() -> None:
    scores = bm25([term((1, 1, 5), (2, 1, 5)), term((1, 1, 5))], [2, 1], 100, 5.0)
    assert scores[1] > scores[2]


def test_a_word_that_stands_nowhere_keeps_the_share_down() -> None:
    whole = bm25([term((1, 1, 5))], [1], 100, 5.0)
    half = bm25([term((1, 1, 5))], [1, 1], 100, 5.0)
    assert half[1] == pytest.approx(whole[1] / 2)


def test_nothing_asked_nothing_found() -> None:
    assert bm25([], [], 0, 0.0) == {}


@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.integers(1, 9), st.integers(1, 90)),
        min_size=1,
        max_size=30,
        unique_by=lambda place: place[0],
    )
)
def test_shares_are_between_nothing_and_all(places: list[tuple[int, int, int]]) -> None:
    shares = bm25([term(*places)], [len(places)], 60, 20.0)
    assert set(shares) == {place[0] for place in places}
    assert all(0 < share <= 1 for share in shares.values())


@given(st.none() | unit, unit, unit, st.booleans())
def test_each_part_only_adds(meaning: float | None, words: float, more: float, named: bool) -> None:
    score = combine(meaning, words, named)
    assert 0 <= score <= 1 + 1e-9
    assert combine(meaning and max(meaning, more), words, named) >= score
    assert combine(meaning, max(words, more), named) >= score
    assert combine(meaning, words, True) >= score


@given(st.dictionaries(st.integers(1, 99), unit, max_size=20))
def test_the_order_does_not_depend_on_the_order_of_the_input(scores: dict[int, float]) -> None:
    assert rank(scores) == rank(dict(reversed(scores.items())))


def test_of_equals_the_newer_is_first() -> None:
    assert rank({1: 0.5, 2: 0.5, 3: 0.9}) == [(3, 0.9), (2, 0.5), (1, 0.5)]


def test_cosines_are_stretched_to_the_whole_range() -> None:
    scale = CosineScale(nothing=0.6, match=0.8)
    assert [scale.stretch(c) for c in (-1, 0.6, 0.8, 1)] == [0, 0, pytest.approx(1), 1]
