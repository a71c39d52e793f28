"""Looks through the files of the data folder for what is left of an erased person.

Reads every byte, in a process of its own (`scan_apart`): a process that has memory.db open must not open and
close it by other means, for that drops all its locks on it (POSIX), and the next program that closes the
database believes it is the last and removes the write-ahead log.

It finds runs of 12 characters and more of the person's messages, facts, summaries and indexed words, as
UTF-8, UTF-16, JSON escapes and base64, and the bytes of their vectors. Shorter texts cannot be told from what
anybody might have written. What stands in somebody else's rows too is theirs, and is not counted.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from keepsake.errors import KeepsakeError
from keepsake.forgetting import registry
from keepsake.forgetting.needles import RUN, Hit, Needles
from keepsake.forgetting.plan import Plan
from keepsake.settings import PROJECT_DIR
from keepsake.store.database import connect_reader

_CHUNK = 4 << 20  # bytes read at once
_SQLITE_MAGIC = b"SQLite format 3\x00"
_SEPARATOR = b"\x00"


def traces(connection: sqlite3.Connection, user_id: int) -> tuple[list[str], list[bytes]]:
    """The texts and vectors that the registry's tables hold of a person; indexed words one by one."""
    texts: set[str] = set()
    vectors: list[bytes] = []
    for entry in registry.owned():
        for column in entry.texts + entry.vectors:
            rows = connection.execute(
                f"SELECT {column} FROM {entry.name} WHERE {entry.owner} AND {column} IS NOT NULL",
                registry.parameters(user_id),
            )
            if column in entry.vectors:
                vectors.extend(row[0] for row in rows)
            elif entry.name == "keywords":
                texts.update(word for row in rows for word in _words(row[0]))
            else:
                texts.update(row[0] for row in rows if len(row[0]) >= RUN)
    return list(texts), vectors


def _words(terms: str) -> Iterator[str]:
    # The index stores a word without the beginning that it shares with the one before: its end is looked for.
    for term in terms.split(" "):
        if len(word := term.partition(":")[2]) >= RUN:
            yield word[-RUN:]


def scan_apart(data_dir: Path, plan_path: Path, user_id: int) -> dict[str, int]:
    """`scan` in a child process, for the needles of a saved plan. Blocking. Raises KeepsakeError."""
    # On standard input: a command line is there for everybody to read.
    wish = {"data_dir": str(data_dir.resolve()), "plan": str(plan_path.resolve()), "user_id": user_id}
    child = subprocess.run(
        [sys.executable, "-m", __spec__.name],
        input=json.dumps(wish),
        capture_output=True,
        text=True,
        cwd=PROJECT_DIR,
        check=False,
    )
    if child.returncode != 0:
        reason = child.stderr.strip().rpartition("\n")[2] or f"it ended with {child.returncode}"
        raise KeepsakeError(f"the files could not be looked through after the erasure: {reason}")
    left: dict[str, int] = json.loads(child.stdout)
    return left


def main() -> None:
    """The child: the wish on standard input, what is left on standard output."""
    wish = json.load(sys.stdin)
    plan = Plan.load(Path(wish["plan"]))
    if plan is None:
        sys.exit("its plan is gone")
    json.dump(scan(Path(wish["data_dir"]), plan.needles, wish["user_id"]), sys.stdout)


def scan(data_dir: Path, needles: Needles, user_id: int, *, chunk: int = _CHUNK) -> dict[str, int]:
    """Bytes left of a person in each file under `data_dir`, by name; files with none are left out."""
    found: dict[Path, list[Hit]] = {}
    for path in registry.files(data_dir):
        hits = list(_file_hits(path, needles, chunk))
        if hits:
            found[path] = hits
    if not found:
        return {}
    others = _groups(_rows_of_others(data_dir / "memory.db", user_id), needles)
    others |= _groups(_schemas(found), needles)
    left = {
        path.relative_to(data_dir).as_posix(): _covered_bytes(hit for hit in hits if hit.group not in others)
        for path, hits in found.items()
    }
    return {name: count for name, count in sorted(left.items()) if count}


def _file_hits(path: Path, needles: Needles, chunk: int) -> Iterator[Hit]:
    overlap = needles.longest - 1
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # an index may tidy its own files meanwhile
        return
    try:
        for start, end in _extents(descriptor):
            position = start
            while position < end:
                data = os.pread(descriptor, min(chunk, end - position) + overlap, position)
                for hit in needles.find(data):
                    yield Hit(position + hit.position, hit.length, hit.group)
                position += chunk
    finally:
        os.close(descriptor)


def _extents(descriptor: int) -> Iterator[tuple[int, int]]:
    """Parts of a file that hold data: a damaged index may be a file of gigabytes that is one hole."""
    size = os.fstat(descriptor).st_size
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:  # nothing but a hole to the end
            return
        position = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, position


def _rows_of_others(database: Path, user_id: int) -> Iterator[bytes]:
    with closing(connect_reader(database)) as connection:
        for entry in registry.owned():
            for column in entry.texts + entry.vectors:
                rows = connection.execute(
                    f"SELECT {column} FROM {entry.name}"
                    f" WHERE ({entry.owner}) IS NOT TRUE AND {column} IS NOT NULL",
                    registry.parameters(user_id),
                )
                for (value,) in rows:
                    yield value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


def _schemas(found: Iterable[Path]) -> Iterator[bytes]:
    """The program's own words in SQLite files: a person may have quoted a table's definition."""
    for path in found:
        with path.open("rb") as file:
            if file.read(len(_SQLITE_MAGIC)) != _SQLITE_MAGIC:
                continue
        # immutable: takes no lock, so that it is nothing to whoever has the file open.
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        for query in ("SELECT sql FROM sqlite_schema", "SELECT sql FROM migrations"):
            with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as connection:
                yield from (str(row[0]).encode() for row in connection.execute(query) if row[0])


def _groups(pieces: Iterable[bytes], needles: Needles) -> set[int]:
    """Groups of the needles that stand in these pieces."""
    groups: set[int] = set()
    batch: list[bytes] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            groups.update(hit.group for hit in needles.find(_SEPARATOR.join(batch)))
            batch, size = [], 0
    groups.update(hit.group for hit in needles.find(_SEPARATOR.join(batch)))
    return groups


def _covered_bytes(hits: Iterable[Hit]) -> int:
    """Bytes under the hits, each counted once."""
    covered, end = 0, 0
    for start, length in sorted({(hit.position, hit.length) for hit in hits}):
        covered += max(0, start + length - max(start, end))
        end = max(end, start + length)
    return covered


if __name__ == "__main__":
    main()
