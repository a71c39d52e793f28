from __future__ import annotations

from bot_models.searches import Search, Searches


def a_search(user_id: int, *found: int) -> Search:
    return Search(user_id, frozenset(("tea",)), found)


def test_a_search_is_held_under_a_name_of_its_own() -> None:
    searches = Searches()
    names = [searches.keep(a_search(7, number)) for number in range(100)]
    assert len(set(names)) == 100
    assert all(len(name) == 8 and ":" not in name for name in names)
    assert searches.get(names[3]) == a_search(7, 3)
    assert searches.get("") is searches.get("another") is None


def test_the_one_that_was_looked_at_longest_ago_leaves() -> None:
    searches = Searches(2)
    first, second = searches.keep(a_search(7, 1)), searches.keep(a_search(7, 2))
    searches.get(first)
    third = searches.keep(a_search(8, 3))
    assert [searches.get(name) is not None for name in (first, second, third)] == [True, False, True]
    assert len(searches) == 2


def test_a_person_who_is_forgotten_leaves_no_search() -> None:
    searches = Searches()
    mine, others = searches.keep(a_search(7, 1)), searches.keep(a_search(8, 2))
    searches.forget(7)
    assert searches.get(mine) is None
    assert searches.get(others) == a_search(8, 2)
