"""Which messages stand beside which."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from keepsake.recall.neighbours import Neighbours


class At(NamedTuple):
    id: int
    session_id: int


# A pause lies between 5 and 8.
WINDOW = [At(1, 1), At(3, 1), At(5, 1), At(8, 2), At(9, 2)]


def test_neighbours_are_those_of_the_same_session() -> None:
    found = Neighbours([WINDOW])
    assert found.beside(3) == [1, 5]
    assert found.beside(5) == [3]
    assert found.beside(8) == [9]
    assert found.near(1) == [5]
    assert found.near(5) == [1]
    assert found.beside(99) == found.near(99) == []


def test_windows_add_up() -> None:
    found = Neighbours([WINDOW[:2]])
    assert found.beside(3) == [1]
    found.add([WINDOW[1:]])
    assert found.beside(3) == [1, 5]
    assert found.near(1) == [5]
    assert (found.session(9), found.session(99)) == (2, -1)


def test_a_session_has_the_mean_of_its_three_best() -> None:
    found = Neighbours([WINDOW])
    scores = found.session_scores({1: 0.9, 3: 0.6, 5: 0.3, 8: 0.6, 77: 1.0})
    assert scores == {1: pytest.approx(0.6), 2: pytest.approx(0.2)}
    assert Neighbours([[At(1, 1), At(2, 1), At(3, 1), At(4, 1)]]).session_scores(
        {1: 0.1, 2: 0.5, 3: 0.6, 4: 0.7}
    ) == {1: pytest.approx(0.6)}
