"""Run as a process: messages leave, or are removed from the archive, each time killed at another step; then a start.

A step is the call of a function; `first`: only the first call of those that the work is made of. Prints a line of JSON
for each: the step, and what is wrong afterwards.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

import pyarrow.parquet.encryption  # noqa: F401 - imported here once, for all forks

from keepsake.archive import parquet, place, service
from keepsake.archive.check import check_archive
from keepsake.forgetting import durable
from keepsake.settings import load_settings
from keepsake.store import archive
from keepsake.verify import verify_folder
from tests.archive.tools import ANN, NEW, files, found, manager, rows, tell
from tests.kill_steps import Steps, Work, forked, killed_at_each_step, report

OLD = [f"heron-{number}-violet sleeps in my garden" for number in range(6)]
FORGOTTEN = OLD[2]
_ALL = {str(module.__file__) for module in (archive, durable, parquet, place, service)}
_ESSENCE = {
    "begin_file",
    "pack",
    "Place.write",
    "write_durably",
    "sync_folder",
    "Place.read",
    "ArchiveFile.everything",
    "move_out",
    "_take_out",
    "wish",
    "replace_file",
    "_keep",
    "Place.delete",
    "gone",
    "Archive.day.<locals>.commit",
}


async def prepare() -> None:
    async with manager(retention_days=0) as memory:
        await tell(memory, ANN, OLD)
        await tell(memory, ANN, ["good morning", "and good evening"], said=NEW)


async def leave() -> None:
    async with manager() as memory:
        await memory.flush()


async def remove() -> None:
    async with manager() as memory:
        await memory.flush()
        engine = await memory.engine()
        held = [one.id for one, _ in await memory.search_archive(ANN, "heron", 9) if one.content == FORGOTTEN]
        await engine.archive.remove(ANN, held)
        await memory.flush()


async def faults(data_dir: Path, *, removing: bool) -> list[str]:
    """What is not as where nobody disturbed it."""
    wrong = []
    wanted = sorted(text for text in OLD if not (removing and text == FORGOTTEN))
    if [row[0] for row in rows(data_dir, "SELECT content FROM messages")] != [
        "good morning",
        "and good evening",
    ]:
        wrong.append("memory.db does not hold what is new")
    async with manager() as memory:
        archived = sorted(await found(memory, ANN, "heron"))
    if archived != wanted:
        wrong.append(f"the archive holds {archived}")
    if {path.name for path in files(data_dir)} != {
        row[0] for row in rows(data_dir, "SELECT name FROM archive_files")
    }:
        wrong.append(f"files {files(data_dir)}")
    if rows(data_dir, "SELECT DISTINCT state FROM archive_files") != [("kept",)]:
        wrong.append("a file is not settled")
    checks = verify_folder(data_dir / "memory.db", data_dir, with_vectors=False)
    checks += [check for check in (check_archive(load_settings()),) if check is not None]
    return wrong + [check.detail for check in checks if not check.ok]


async def check(data_dir: Path, name: str, *, removing: bool) -> None:
    report(name, await faults(data_dir, removing=removing))


def main(work: Work, *, first: bool) -> None:
    data_dir = load_settings().data_dir
    model = data_dir.with_name("model")
    forked(prepare)
    if work is remove:
        forked(leave)
    shutil.move(data_dir, model)
    steps = partial(Steps, files=_ALL, once=first, names=_ESSENCE if first else None)
    for name in killed_at_each_step(model, data_dir, work, steps):
        forked(work)  # the next start; a wish that was not on the disk yet is made again
        forked(partial(check, data_dir, name, removing=work is remove))


if __name__ == "__main__":
    main({"leave": leave, "remove": remove}[sys.argv[1]], first=sys.argv[2] == "first")
