from __future__ import annotations

from bot_models.searches import Search, Searches

TEA = frozenset(("tea",))


def finished(searches: Searches, user_id: int, *found: int) -> str:
    name = searches.begin(user_id, TEA)
    searches.finish(name, found)
    return name


def test_a_search_is_held_under_a_name_of_its_own() -> None:
    searches = Searches()
    names = [finished(searches, 7, number) for number in range(100)]
    assert len(set(names)) == 100
    assert all(len(name) == 8 and ":" not in name for name in names)
    assert searches.get(names[3]) == Search(7, TEA, (3,))
    searches.drop(names[3])
    assert searches.get(names[3]) is searches.get("") is None


def test_the_one_that_was_looked_at_longest_ago_leaves() -> None:
    searches = Searches(2)
    first, second = finished(searches, 7, 1), finished(searches, 7, 2)
    searches.get(first)
    third = finished(searches, 8, 3)
    assert [searches.get(name) is not None for name in (first, second, third)] == [True, False, True]
    assert len(searches) == 2


def test_a_person_who_is_forgotten_leaves_no_search() -> None:
    searches = Searches()
    mine, others = finished(searches, 7, 1), finished(searches, 8, 2)
    running = searches.begin(7, TEA)
    searches.forget(7)
    searches.finish(running, (1, 2))  # it ends after they were forgotten
    assert searches.get(mine) is searches.get(running) is None
    assert searches.get(others) == Search(8, TEA, (2,))
