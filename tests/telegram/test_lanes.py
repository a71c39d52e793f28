"""Lanes: order within a chat, chats side by side, and what happens when work fails."""

from __future__ import annotations

import asyncio

import pytest

from keepsake.errors import DatabaseError
from keepsake.store.inbox import Undone
from keepsake.telegram import lanes as module
from keepsake.telegram.lanes import Lanes


async def settle(lanes: Lanes) -> None:
    while lanes.waiting:  # noqa: ASYNC110 - there is nothing to be told by
        await asyncio.sleep(0.005)


async def test_order_within_a_chat_and_topic_and_others_beside_it() -> None:
    done: list[int] = []
    gate = asyncio.Event()

    async def work(update_id: int) -> None:
        if update_id == 1:
            await gate.wait()
        done.append(update_id)

    lanes = Lanes(work)
    for number, (chat, topic) in enumerate([(7, None), (7, None), (8, None), (7, 3)], 1):
        lanes.add(Undone(number, chat, topic))
    await asyncio.sleep(0.02)
    assert done == [3, 4]
    gate.set()
    await settle(lanes)
    assert done == [3, 4, 1, 2]


async def test_no_more_chats_at_once_than_allowed() -> None:
    working, most = 0, 0

    async def work(_: int) -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        await asyncio.sleep(0.01)
        working -= 1

    lanes = Lanes(work, at_once=2)
    for number in range(10):
        lanes.add(Undone(number, number, None))
    await settle(lanes)
    assert most == 2


async def test_while_memory_cannot_be_used_an_update_waits_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    tried: list[int] = []

    async def work(update_id: int) -> None:
        tried.append(update_id)
        if len(tried) < 3:
            raise DatabaseError("the disk is full")

    lanes = Lanes(work)
    lanes.add(Undone(1, 7, None))
    lanes.add(Undone(2, 7, None))
    await settle(lanes)
    assert tried == [1, 1, 1, 2]


async def test_one_that_fails_for_good_does_not_hold_up_the_others() -> None:
    done: list[int] = []

    async def work(update_id: int) -> None:
        if update_id == 1:
            raise RuntimeError
        done.append(update_id)

    lanes = Lanes(work)
    lanes.add(Undone(1, 7, None))
    lanes.add(Undone(2, 7, None))
    await settle(lanes)
    assert done == [2]


async def test_a_stop_lets_the_present_one_end_and_begins_nothing_new() -> None:
    done: list[int] = []
    begun = asyncio.Event()

    async def work(update_id: int) -> None:
        begun.set()
        await asyncio.sleep(0.05)
        done.append(update_id)

    lanes = Lanes(work)
    lanes.add(Undone(1, 7, None))
    lanes.add(Undone(2, 7, None))
    await begun.wait()
    assert await lanes.stop(5) == 0
    assert done == [1]


async def test_what_does_not_end_within_the_grace_is_cut_short() -> None:
    begun = asyncio.Event()

    async def work(_: int) -> None:
        begun.set()
        await asyncio.sleep(3600)

    lanes = Lanes(work)
    lanes.add(Undone(1, 7, None))
    await begun.wait()
    assert await lanes.stop(0.05) == 1


async def test_who_hurries_waits_no_longer() -> None:
    begun, hurry = asyncio.Event(), asyncio.Event()

    async def work(_: int) -> None:
        begun.set()
        await asyncio.sleep(3600)

    lanes = Lanes(work)
    lanes.add(Undone(1, 7, None))
    await begun.wait()
    hurry.set()
    assert await lanes.stop(3600, hurry) == 1
