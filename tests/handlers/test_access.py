from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from keepsake.access import WRONG_PER_CODE, WRONG_PER_PERSON, Access, new_code
from keepsake.settings import load_settings


def access(allowed: str = "", admins: str = "", owner: int | None = None) -> Access:
    settings = load_settings(_env_file=None, allowed_user_ids=allowed, admin_user_ids=admins)
    return Access(settings, owner, make_code=numbered())


def numbered() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"CODE-{next(numbers)}"


def test_codes_are_long_and_differ() -> None:
    codes = {new_code() for _ in range(100)}
    assert len(codes) == 100
    assert {len(code) for code in codes} == {14}


@pytest.mark.parametrize(
    ("allowed", "owner", "user", "expected"),
    [
        ("1,2", None, 2, True),
        ("1,2", None, 3, False),
        ("*", None, 3, True),
        ("", None, 3, False),
        ("", 3, 3, True),
        ("", 3, 4, False),
        ("1", 3, 3, False),
    ],
)
def test_who_is_let_in(allowed: str, owner: int | None, user: int, expected: bool) -> None:
    assert access(allowed, owner=owner).allows(user) is expected


def test_admins_are_those_of_the_settings_and_the_owner() -> None:
    assert access("1,2", admins="1").is_admin(1)
    assert not access("1,2", admins="1").is_admin(2)
    assert not access("2", admins="1").is_admin(1)
    assert access(owner=3).is_admin(3)
    assert not access("*", owner=3).is_admin(3)


@pytest.mark.parametrize(("allowed", "owner"), [("1", None), ("*", None), ("", 3)])
def test_no_code_is_made_where_somebody_can_get_in(allowed: str, owner: int | None) -> None:
    codes: list[str] = []
    door = access(allowed, owner=owner)
    door.offer_code(codes.append)
    assert codes == []
    assert not door.open_to_claim
    assert not door.claim(9, "CODE-1")


def test_the_code_works_once_whatever_its_case_and_dashes() -> None:
    codes: list[str] = []
    door = access()
    door.offer_code(codes.append)
    assert codes == ["CODE-1"]
    assert not door.allows(5)
    assert door.claim(5, " code1 ")
    assert door.allows(5)
    assert not door.claim(6, "CODE-1")
    assert not door.allows(6)


def test_a_sentence_is_no_try() -> None:
    door = access()
    door.offer_code(lambda code: None)
    for _ in range(WRONG_PER_CODE + 1):
        assert not door.claim(5, "hello there CODE-1")
    assert door.claim(5, "CODE-1")


def test_after_five_wrong_tries_even_the_right_code_is_not_heard() -> None:
    door = access()
    door.offer_code(lambda code: None)
    for _ in range(WRONG_PER_PERSON):
        assert not door.claim(5, "wrong")
    assert not door.claim(5, "CODE-1")
    assert door.claim(6, "CODE-1")


def test_after_twenty_wrong_tries_by_all_a_new_code_takes_its_place() -> None:
    codes: list[str] = []
    door = access()
    door.offer_code(codes.append)
    for person in range(WRONG_PER_CODE):
        assert not door.claim(100 + person, "wrong")
    assert codes == ["CODE-1", "CODE-2"]
    assert not door.claim(5, "CODE-1")
    assert door.claim(5, "CODE-2")


def test_words_of_any_script_are_wrong_not_an_error() -> None:
    door = access()
    door.offer_code(lambda code: None)
    assert not door.claim(5, "код\ud800")


def test_an_owner_who_was_erased_owns_nothing_and_a_new_code_is_out() -> None:
    codes: list[str] = []
    door = access()
    door.offer_code(codes.append)
    assert door.claim(5, "CODE-1")
    door.forget(6)
    assert door.allows(5)
    door.forget(5)
    assert not door.allows(5)
    assert codes == ["CODE-1", "CODE-2"]
    assert door.claim(6, "CODE-2")
