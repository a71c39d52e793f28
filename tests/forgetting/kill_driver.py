"""Run as a process: erases a person over and over, each time killed at another step, and finishes it at a next start.

A step is the call of a function; `first`: only the first call of each that the erasure itself is made of. Prints a line
of JSON for each: the step, and what is wrong afterwards.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

from keepsake.forgetting import anchor, durable, erase, ledger, plan, service
from keepsake.forgetting.ledger import Ledger
from keepsake.forgetting.registry import count_rows
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from keepsake.store import jobs
from keepsake.store.database import connect_reader, connect_writer, transact
from keepsake.verify import verify
from tests.forgetting.rows import fill
from tests.kill_steps import Steps, forked, killed_at_each_step, report

PERSON, OTHER = 5, 55
SECRETS = [f"heron-{number}-violet sleeps in my garden" for number in range(12)]
_ITSELF = {str(module.__file__) for module in (durable, erase)}
_ALL = _ITSELF | {str(module.__file__) for module in (anchor, jobs, ledger, plan, service)}


def prepare(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True)
    with closing(connect_writer(folder / "memory.db")) as connection:
        transact(connection, fill, PERSON, SECRETS)
        transact(connection, fill, OTHER, ["the tea of the other one is green", "and it is hot today"])
        connection.execute("DELETE FROM jobs WHERE kind <> 'erase'")


async def erase_person() -> None:
    async with MemoryManager(load_settings()) as memory:
        await memory.begin_erasure(PERSON)
        await memory.flush()


async def next_start(data_dir: Path) -> None:
    async with MemoryManager(load_settings()) as memory:
        await memory.flush()
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        begun = not any(count_rows(connection, PERSON).values())
    if not begun:  # killed before the wish was on the disk
        await erase_person()


def faults(data_dir: Path) -> list[str]:
    """What is not as after an erasure that nobody disturbed."""
    content = b"\n".join(path.read_bytes() for path in data_dir.rglob("*") if path.is_file())
    found = [secret for secret in SECRETS if secret[:16].encode() in content]
    found += [path.name for path in data_dir.glob("erasing-*")]
    lines = Ledger(data_dir).path.read_text().splitlines()
    if len(lines) != 1 or json.loads(lines[0])["left"] or json.loads(lines[0])["counts"]["messages"] != 12:
        found.append(f"{len(lines)} receipts: {lines}")
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        found += [check.detail for check in verify(connection, data_dir, with_vectors=False) if not check.ok]
        if count_rows(connection, OTHER)["messages"] != 2:
            found.append("somebody else lost messages")
        if connection.execute("SELECT 1 FROM jobs WHERE user_id = ?", (PERSON,)).fetchone():
            found.append("a job names the person")
    return found


def main(first: bool) -> None:
    data_dir = load_settings().data_dir
    model = data_dir.with_name("model")
    prepare(model)
    steps = partial(Steps, files=_ITSELF if first else _ALL, once=first)
    for name in killed_at_each_step(model, data_dir, erase_person, steps):
        forked(partial(next_start, data_dir))
        report(name, faults(data_dir))


if __name__ == "__main__":
    main(sys.argv[1] == "first")
