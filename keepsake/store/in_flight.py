"""Updates that are not to be kept, while they are worked on: each in a file of its own beside memory.db.

memory.db is no place for them: copies of a row that is gone stay in its write-ahead log and in the free space of its
pages. All functions block.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from keepsake.forgetting.durable import sync_folder, write_durably

_PREFIX = "in-flight-"


def put(folder: Path, update_id: int, payload: str) -> None:
    """On the disk when this returns."""
    write_durably(_path(folder, update_id), payload.encode("utf-8"))


def read(folder: Path, update_id: int) -> str | None:
    """None where it is gone."""
    try:
        return _path(folder, update_id).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def drop(folder: Path, update_ids: Iterable[int]) -> None:
    """They are done, or their person is erased."""
    for update_id in update_ids:
        _path(folder, update_id).unlink(missing_ok=True)
    sync_folder(folder)


def drop_others(folder: Path, update_ids: Collection[int]) -> None:
    """Removes what a kill has left of others than these."""
    kept = {_path(folder, one) for one in update_ids}
    gone = [path for path in folder.glob(f"{_PREFIX}*") if path not in kept]
    for path in gone:
        path.unlink(missing_ok=True)
    if gone:
        sync_folder(folder)


def _path(folder: Path, update_id: int) -> Path:
    return folder / f"{_PREFIX}{update_id}.json"
