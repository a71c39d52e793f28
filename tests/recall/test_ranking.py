"""Ranking: dated, hand-made cases and properties of the pure functions."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.manager import MemoryManager
from keepsake.recall.ranking import (
    CosineScale,
    Evidence,
    bm25,
    combine,
    lengths_of,
    most_of,
    newer_first,
    rank,
    rarity,
)
from keepsake.settings import Settings

unit = st.floats(0, 1)


def shares(counts: list[list[int]], frequencies: list[int], documents: int = 100) -> list[float]:
    """BM25 of messages of 5 terms each."""
    weights = rarity(np.array(frequencies, dtype=np.int64), documents)
    table = np.array(counts, dtype=np.int64).reshape(len(counts), len(frequencies))
    found: list[float] = bm25(table, np.full(len(counts), 5), weights, 5.0).tolist()
    return found


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    rare, common = shares([[1, 0], [0, 1]], [1, 38])
    assert rare > common


def test_more_of_the_question_is_better() -> None:
    both, one = shares([[1, 1], [1, 0]], [2, 1])
    assert both > one


def test_a_word_that_stands_nowhere_keeps_the_share_down() -> None:
    [whole] = shares([[1]], [1])
    [half] = shares([[1, 0]], [1, 0])
    assert half < whole / 2


def test_nothing_asked_nothing_found() -> None:
    assert shares([], []) == []
    assert most_of([], 5) == []


def test_bm25_of_one_case_reckoned_by_hand() -> None:
    # idf = ln(1 + (10 - 3 + 0.5) / (3 + 0.5)); tf part = 2 * 2.2 / (2 + 1.2 * (0.6 + 0.4 * 8 / 4)); share of idf * 2.2
    weights = rarity(np.array([3]), 10)
    assert weights[0] == pytest.approx(1.1451, abs=1e-4)
    share = bm25(np.array([[2]]), np.array([8]), weights, 4.0)
    assert share[0] == pytest.approx(2 / (2 + 1.2 * 1.4))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 90)), min_size=1, max_size=30),
    st.integers(1, 60),
)
def test_shares_are_between_nothing_and_all(places: list[tuple[int, int]], found_in: int) -> None:
    counts, lengths = np.array(places).T
    of_all = bm25(counts[:, None], lengths, rarity(np.array([found_in]), 60), 20.0)
    assert np.all((of_all > 0) & (of_all <= 1))


def test_candidates_are_those_with_most_of_the_words() -> None:
    rare, common = np.array([3, 9]), np.array([1, 3, 5, 7])
    assert most_of([(rare, 2.0), (common, 0.5)], 3) == [3, 9, 7]


PARTS = [field.name for field in fields(Evidence)]


@given(st.lists(unit, min_size=len(PARTS), max_size=len(PARTS)), st.sampled_from(PARTS), unit, st.booleans())
def test_each_part_only_adds_but_for_asking(
    values: list[float], part: str, more: float, by_meaning: bool
) -> None:
    evidence = Evidence(*values)
    score = combine(evidence, by_meaning=by_meaning)
    assert 0 <= score <= 1
    grown = replace(evidence, **{part: max(getattr(evidence, part), more)})
    if part == "asks":
        assert combine(grown, by_meaning=by_meaning) <= score + 1e-12
    else:
        assert combine(grown, by_meaning=by_meaning) >= score - 1e-12


def test_all_that_could_speak_for_a_message_makes_one() -> None:
    whole = Evidence(**{part: 1.0 for part in PARTS if part != "asks"})
    assert combine(whole) == pytest.approx(1)
    assert combine(whole, by_meaning=False) == pytest.approx(1)
    assert combine(Evidence()) == 0


def test_the_word_itself_comes_before_what_stands_beside_it() -> None:
    """A message of the user's beside it, against a shorter one of the assistant's that says it."""
    says_it = Evidence(words=0.5, words_around=0.5, length=0.4)
    beside_it = Evidence(words_around=0.5, length=0.5, by_user=True)
    assert combine(says_it, by_meaning=False) > combine(beside_it, by_meaning=False)


async def test_by_keyword_only_the_one_message_with_a_word_comes_first(settings: Settings) -> None:
    """Random messages of 3-60 words, each with a word of its own."""
    chance = random.Random(7)
    common = ["".join(chance.choices("bdfgklmnprstaeiou", k=chance.randint(3, 9))) for _ in range(400)]
    held: dict[str, int] = {}
    async with MemoryManager(settings) as memory:
        for number in range(300):
            own = f"zq{chr(97 + number % 26)}{chr(97 + number // 26)}vx"
            text = [own, *chance.choices(common, k=chance.randint(2, 59))]
            chance.shuffle(text)
            held[own] = (
                await memory.save_message(7, chance.choice(["user", "assistant"]), " ".join(text))
            ).id
        first = [(await memory.search_memory(7, own))[0][0].id for own in held]
    right = sum(one == said for one, said in zip(first, held.values(), strict=True))
    assert right >= 0.95 * len(held)


def test_without_vectors_meaning_is_not_missed() -> None:
    only_words = Evidence(words=1.0)
    assert combine(only_words, by_meaning=False) > combine(only_words)


def test_a_longer_text_counts_more_ever_less_so() -> None:
    short, more, long, longer, book = lengths_of(np.array([5, 55, 505, 555, 500_000])).tolist()
    assert 0 < short < more < long < longer <= book == 1
    assert more - short > longer - long


def ranked(scores: dict[int, float]) -> list[tuple[int, float]]:
    return rank(np.array(list(scores), dtype=np.int64), np.array(list(scores.values())))


@given(st.dictionaries(st.integers(1, 99), unit, max_size=20))
def test_the_order_does_not_depend_on_the_order_of_the_input(scores: dict[int, float]) -> None:
    assert ranked(scores) == ranked(dict(reversed(scores.items())))


def test_of_equals_the_newer_is_first() -> None:
    assert ranked({1: 0.5, 2: 0.5, 3: 0.9}) == [(3, 0.9), (2, 0.5), (1, 0.5)]


def test_cosines_are_stretched_to_the_whole_range() -> None:
    scale = CosineScale(nothing=0.6, match=0.8)
    assert scale.stretch(np.array([-1, 0.6, 0.8, 1])).tolist() == [0, 0, pytest.approx(1), 1]


def test_of_close_results_the_newer_comes_first() -> None:
    alike = {3: 0.9, 9: 0.8}
    assert newer_first([(3, 0.60), (9, 0.58)], alike) == [(9, 0.60), (3, 0.58)]
    assert newer_first([(3, 0.80), (9, 0.58)], alike) == [(3, 0.80), (9, 0.58)]
    assert newer_first([(9, 0.60), (3, 0.58)], alike) == [(9, 0.60), (3, 0.58)]
    assert newer_first([], {}) == []


def test_a_newer_one_that_is_less_about_it_stays_behind() -> None:
    assert newer_first([(3, 0.60), (9, 0.58)], {3: 0.9, 9: 0.3}) == [(3, 0.60), (9, 0.58)]


@given(st.dictionaries(st.integers(1, 99), unit, max_size=20))
def test_only_the_first_five_change_places(scores: dict[int, float]) -> None:
    before = ranked(scores)
    after = newer_first(before, scores)
    assert {one for one, _ in after[:5]} == {one for one, _ in before[:5]}
    assert after[5:] == before[5:]
    assert [score for _, score in after] == [score for _, score in before]
