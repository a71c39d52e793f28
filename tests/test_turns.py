"""A pause ends what is handled for one person, keeps back what comes, and touches nobody else."""

from __future__ import annotations

import asyncio

import pytest

from keepsake.turns import Turns


async def test_what_is_handled_is_cut_short_and_what_comes_waits() -> None:
    turns, said = Turns(), []
    begun = asyncio.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            said.append("ended")

    async def say(word: str) -> None:
        said.append(word)

    cut = asyncio.create_task(turns.take(7, endless))
    await begun.wait()
    async with turns.paused(7):
        assert said == ["ended"]
        later = asyncio.create_task(turns.take(7, lambda: say("mine")))
        await turns.take(8, lambda: say("another's"))
        assert said == ["ended", "another's"]
    await asyncio.gather(cut, later)
    assert said == ["ended", "another's", "mine"]


async def test_who_asks_for_the_pause_goes_on() -> None:
    turns = Turns()
    done = asyncio.Event()

    async def asks() -> None:
        turns.leave()
        async with turns.paused(7):
            done.set()

    async with asyncio.timeout(5):
        await turns.take(7, asks)
    assert done.is_set()


async def test_a_stop_from_outside_ends_the_work_and_is_not_swallowed() -> None:
    turns, ended = Turns(), asyncio.Event()
    begun = asyncio.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(turns.take(7, endless))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_an_error_of_the_work_is_raised() -> None:
    async def fails() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        await Turns().take(7, fails)
