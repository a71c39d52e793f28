from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from keepsake.index.exact import VectorCache, decode, encode, top
from keepsake.index.vectors import unit
from keepsake.models import ItemKind

DIMENSION = 8
ROW_BYTES = DIMENSION * 4 + 8


def rows(count: int, seed: int = 0) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32))


@given(st.sampled_from(["message", "fact"]), st.integers(0, 2**61))
def test_kind_and_id_survive_as_one_number(kind: ItemKind, item_id: int) -> None:
    assert decode(encode(kind, item_id)) == (kind, item_id)
    assert -(2**63) <= encode(kind, item_id) < 2**63


@given(st.integers(0, 40), st.integers(0, 50))
def test_top_is_the_head_of_a_full_sort(count: int, k: int) -> None:
    vectors, query = rows(count), rows(1, seed=1)[0]
    positions, scores = top(vectors, query, k)
    expected = np.argsort(-(vectors @ query), kind="stable")[:k]
    assert positions.tolist() == expected.tolist()
    np.testing.assert_allclose(scores, (vectors @ query)[expected])


def test_equal_scores_keep_their_order_whatever_k() -> None:
    vectors = np.repeat(rows(1), 10, axis=0)
    assert top(vectors, vectors[0], 3)[0].tolist() == [0, 1, 2]


def test_append_grows_and_leaves_what_was_handed_out() -> None:
    cache, matrix = VectorCache(1_000_000), rows(100)
    cache.put(1, np.arange(10), matrix[:10])
    before = cache.get(1)
    for i in range(10, 100):
        cache.append(1, [i], matrix[i : i + 1])
    after = cache.get(1)
    assert before is not None
    assert after is not None
    assert before.keys.tolist() == list(range(10))
    assert after.keys.tolist() == list(range(100))
    np.testing.assert_array_equal(after.matrix, matrix)
    np.testing.assert_array_equal(before.matrix, matrix[:10])


def test_append_of_a_key_that_is_there_replaces_it() -> None:
    cache, matrix = VectorCache(1_000_000), rows(3)
    cache.put(1, [5, 6], matrix[:2])
    cache.append(1, [5], matrix[2:])
    held = cache.get(1)
    assert held is not None
    assert held.keys.tolist() == [6, 5]
    np.testing.assert_array_equal(held.matrix, matrix[1:])


def test_append_and_remove_of_a_user_who_is_not_cached_do_nothing() -> None:
    cache = VectorCache(1_000_000)
    cache.append(1, [1], rows(1))
    cache.remove(1, [1])
    assert cache.get(1) is None
    assert cache.nbytes == 0


def test_remove_takes_only_what_is_named() -> None:
    cache, matrix = VectorCache(1_000_000), rows(4)
    cache.put(1, [1, 2, 3, 4], matrix)
    cache.remove(1, [2, 4, 99])
    held = cache.get(1)
    assert held is not None
    assert held.keys.tolist() == [1, 3]
    np.testing.assert_array_equal(held.matrix, matrix[[0, 2]])


def test_the_least_recently_used_user_leaves_first() -> None:
    cache = VectorCache(2 * 10 * ROW_BYTES)
    for user in (1, 2):
        cache.put(user, np.arange(10), rows(10))
    assert cache.get(1) is not None
    cache.put(3, np.arange(10), rows(10))
    assert cache.get(2) is None
    assert cache.get(1) is not None
    assert cache.get(3) is not None


@given(st.lists(st.tuples(st.sampled_from("parxd"), st.integers(1, 4), st.integers(1, 9)), max_size=40))
def test_the_bytes_stay_bounded_and_add_up(steps: list[tuple[str, int, int]]) -> None:
    cache = VectorCache(25 * ROW_BYTES)
    for action, user, count in steps:
        if action == "p":
            cache.put(user, np.arange(count), rows(count))
        elif action == "a":
            cache.append(user, np.arange(100, 100 + count), rows(count))
        elif action == "r":
            cache.remove(user, np.arange(count))
        elif action == "d":
            cache.drop(user)
        assert 0 <= cache.nbytes <= 25 * ROW_BYTES
    for user in range(1, 5):
        cache.drop(user)
    assert cache.nbytes == 0


def test_vectors_that_are_handed_out_cannot_be_written() -> None:
    cache = VectorCache(1_000_000)
    cache.put(1, [1], rows(1))
    held = cache.get(1)
    assert held is not None
    with pytest.raises(ValueError, match="read-only"):
        held.matrix[0, 0] = 1
