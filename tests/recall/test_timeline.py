"""The order of a user's messages, kept in RAM."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.manager import MemoryManager
from keepsake.recall.timeline import Glance, Timeline, Timelines
from keepsake.recall.weighing import weigh
from keepsake.settings import Settings


def glance(message_id: int, session: int = 1, sender: str | None = None) -> Glance:
    return (message_id, session, message_id * 10, 40, sender, sender is None, False)


# A pause lies between 5 and 8.
TALK = Timeline().extended([glance(1), glance(3), glance(5, sender="Ann"), glance(8, 2), glance(9, 2)])


def test_messages_are_found_by_id() -> None:
    assert TALK.places([9, 1, 4, 77, 3]).tolist() == [4, 0, 1]
    assert Timeline().places([1]).tolist() == []


def test_neighbours_are_those_of_the_same_session() -> None:
    there, same = TALK.beside(np.array([0, 2, 3]), 1)
    assert same.tolist() == [True, False, True]
    assert there[same].tolist() == [1, 4]
    assert TALK.beside(np.array([0, 2]), -2)[1].tolist() == [False, True]
    assert TALK.with_neighbours(np.array([2])).tolist() == [1, 2]
    assert TALK.with_neighbours(np.array([], dtype=np.int64)).tolist() == []


def test_who_said_what() -> None:
    later = TALK.extended([glance(11, 2, "Bob"), glance(12, 2, "Ann")])
    assert later.said_by(["Ann", "Zoe"]).tolist() == [False, False, True, False, False, False, True]
    assert later.rows["by_user"].tolist() == [True, True, False, True, True, False, False]


class Messages:
    """What a store would give, and how often everything was asked for."""

    def __init__(self, *ids: int) -> None:
        self.ids = list(ids)
        self.whole_reads = 0

    def read(self, _user_id: int, after: int) -> list[Glance]:
        self.whole_reads += after == 0
        return [glance(one) for one in self.ids if one > after]


def test_only_what_is_new_is_read() -> None:
    timelines, store = Timelines(), Messages(1, 2)
    assert timelines.current(7, 2, store.read).ids.tolist() == [1, 2]
    store.ids.append(5)
    assert timelines.current(7, 3, store.read).ids.tolist() == [1, 2, 5]
    assert store.whole_reads == 1


def test_an_erased_message_is_not_remembered() -> None:
    timelines, store = Timelines(), Messages(1, 2, 3)
    timelines.current(7, 3, store.read)
    store.ids = [1, 3, 4]
    assert timelines.current(7, 3, store.read).ids.tolist() == [1, 3, 4]


def test_a_user_who_is_erased_while_read_is_not_kept() -> None:
    timelines, store = Timelines(), Messages(1, 2)

    def erased_meanwhile(user_id: int, after: int) -> list[Glance]:
        timelines.drop(user_id)
        return store.read(user_id, after)

    timelines.current(7, 2, erased_meanwhile)
    store.ids.clear()
    assert timelines.current(7, 0, store.read).ids.tolist() == []


def test_the_least_recently_used_leave() -> None:
    store = Messages(*range(1, 101))
    timelines = Timelines(most_bytes=3 * TALK.nbytes + 2 * Timeline().extended(store.read(1, 0)).nbytes)
    for user in (1, 2, 1, 3):
        timelines.current(user, 100, store.read)
    asked = store.whole_reads
    timelines.current(1, 100, store.read)
    assert store.whole_reads == asked
    timelines.current(2, 100, store.read)
    assert store.whole_reads == asked + 1


@given(st.lists(st.integers(1, 5), max_size=30), st.integers(0, 30))
def test_read_in_parts_it_is_the_same(sessions: list[int], cut: int) -> None:
    glances = [glance(number, session) for number, session in enumerate(sorted(sessions), 1)]
    whole = Timeline().extended(glances)
    assert np.array_equal(Timeline().extended(glances[:cut]).extended(glances[cut:]).rows, whole.rows)


async def test_it_follows_what_is_said(settings: Settings) -> None:
    """A message is found beside another that came after the timeline was read."""
    async with MemoryManager(settings) as memory:
        await memory.save_message(7, "user", "the ferry leaves at seven")
        await memory.search_memory(7, "ferry")
        beside = await memory.save_message(7, "user", "bring the blue tickets")
        found = [message.id for message, _ in await memory.search_memory(7, "ferry")]
    assert beside.id in found


def test_a_session_has_the_mean_of_its_three_best() -> None:
    talk = Timeline().extended([glance(number, 1 if number < 5 else 2) for number in range(1, 7)])
    meaning = np.array([0.9, 0.6, 0.3, 0.1, 0.6, 0.0])
    found = weigh(talk, np.arange(6), np.array([0, 1, 2, 3, 4]), np.zeros(6), meaning)
    assert found.meaning_of_session == pytest.approx([0.6] * 4 + [0.2] * 2)


def test_what_stands_beside() -> None:
    meaning = np.array([0.2, 0.4, 0.8, 0.5, 0.0])
    nothing = np.array([], dtype=np.int64)
    found = weigh(TALK, np.array([0, 2, 3]), nothing, np.zeros(5), meaning, named=["Ann"])
    assert found.meaning_beside == pytest.approx([0.4, 0.4, 0.0])
    assert found.speaker_is_named == pytest.approx([0, 1, 0])


def test_a_session_is_one_stretch() -> None:
    begin, end = TALK.sessions(np.array([0, 2, 3, 4]))
    assert begin.tolist() == [0, 0, 3, 3]
    assert end.tolist() == [3, 3, 5, 5]


def test_the_words_around_are_those_of_the_session() -> None:
    """Two words of a question, the one of weight 3 in the first message, the other in the one after the pause."""
    talk = Timeline().extended([*(glance(number) for number in range(1, 6)), glance(8, 2)])
    matches = [(np.array([1]), 3.0), (np.array([8]), 1.0)]
    nothing = np.array([], dtype=np.int64)
    found = weigh(talk, np.arange(6), nothing, np.zeros(6), np.zeros(6), matches=matches, weight=6.0)
    assert found.words_around == pytest.approx([0.5, 0.5, 0.5, 0, 0, 1 / 6])
    assert found.words_in_session == pytest.approx([0.5] * 5 + [1 / 6])


def test_an_answer_has_the_words_of_the_question_before_it() -> None:
    asked = (2, 1, 20, 40, None, True, True)
    talk = Timeline().extended([glance(1), asked, glance(3), glance(4), glance(5, 2)])
    words = np.array([0.2, 0.6, 0.0, 0.9, 0.0])
    found = weigh(talk, np.arange(5), np.array([], dtype=np.int64), words, np.zeros(5))
    assert found.answers_words == pytest.approx([0, 0, 0.6, 0, 0])


def test_what_was_said_in_a_time_is_half_open() -> None:
    assert TALK.said_in([(30, 50), (90, 91)]).tolist() == [False, True, False, False, True]
    assert not TALK.said_in([]).any()
