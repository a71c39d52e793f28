from __future__ import annotations

import pytest

from bot_models.user_state import StateManager, UserState


def test_lines_name_the_speaker_and_the_oldest_leaves() -> None:
    state = UserState(max_messages=3)
    for number in range(4):
        state.add("user" if number % 2 == 0 else "assistant", f"line {number}")
    assert state.ai_chat_history == ["Assistant: line 1", "User: line 2", "Assistant: line 3"]


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValueError, match="system"):
        UserState().add("system", "x")


def test_an_int_and_its_string_are_one_person() -> None:
    states = StateManager()
    states.get_state(7).add("user", "hi")
    assert states.get_state("7").ai_chat_history == ["User: hi"]
    assert states.get_state(8).ai_chat_history == []


@pytest.mark.parametrize("bad", [None, "", "x", True, 1.5, "1.5"])
def test_other_ids_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="user id"):
        StateManager().get_state(bad)  # type: ignore[arg-type]


def test_history_is_loaded_only_after_it_was_marked() -> None:
    states = StateManager()
    assert not states.is_history_loaded(1)
    states.get_state(1)
    assert not states.is_history_loaded(1)
    states.mark_history_loaded("1")
    assert states.is_history_loaded(1)
    assert not states.is_history_loaded(2)


def test_the_least_recently_used_leaves_and_must_be_loaded_again() -> None:
    states = StateManager(max_users=2)
    for user in (1, 2):
        states.get_state(user).add("user", f"I am {user}")
        states.mark_history_loaded(user)
    states.get_state(1)
    states.get_state(3)
    assert len(states) == 2
    assert states.is_history_loaded(1)
    assert not states.is_history_loaded(2)
    assert states.get_state(2).ai_chat_history == []


def test_asking_whether_history_is_loaded_makes_no_state() -> None:
    states = StateManager(max_users=1)
    states.get_state(1)
    assert not states.is_history_loaded(2)
    assert len(states) == 1


def test_forget_drops_the_lines_and_the_mark() -> None:
    states = StateManager()
    states.get_state(1).add("user", "a secret")
    states.mark_history_loaded(1)
    states.forget("1")
    assert not states.is_history_loaded(1)
    assert states.get_state(1).ai_chat_history == []


def test_limits_come_from_the_constructor() -> None:
    state = StateManager(max_messages=1).get_state(1)
    state.add("user", "a")
    state.add("assistant", "b")
    assert state.ai_chat_history == ["Assistant: b"]
    with pytest.raises(ValueError, match="at least 1"):
        StateManager(max_users=0)
