"""What is left of a person in files, found by other means than the scan of the product.

Whatever strings the person's rows hold is looked for in every run of twelve characters, in UTF-8, UTF-16, base64 and
JSON escapes, and their vectors in every three numbers; what stands in others' rows too is theirs.

Run as a process it reads what to look for from standard input: who reads memory.db as a file in a process that has it
open drops that process's locks.
"""

from __future__ import annotations

import base64
import json
import pickle
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keepsake.settings import PROJECT_DIR

RUN = 12
_KEY_BYTES = 12  # no needle has fewer
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SIEVE_BITS = 24
_HITS_READ = 200_000


@dataclass(frozen=True, slots=True)
class Held:
    """All strings and all vectors of a person, as their rows have them."""

    texts: frozenset[str]
    vectors: tuple[bytes, ...]


def held(database: Path, *, of: int) -> Held:
    """What a person's rows hold."""
    return _held(database, f"= {of}")


def held_by_others(database: Path, *, than: int) -> Held:
    """What everybody else's rows hold, and those of nobody."""
    return _held(database, f"IS NOT {than}")


def left_apart(data_dir: Path, mine: Held, others: Held) -> dict[str, list[str]]:
    """As `left`, looked for by a process of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.forgetting.leftovers", str(data_dir)],
        cwd=PROJECT_DIR,
        input=pickle.dumps((mine, others)),
        stdout=subprocess.PIPE,
        check=True,
    )
    names: dict[str, list[str]] = json.loads(found.stdout)
    return names


def left(data_dir: Path, mine: Held, others: Held) -> dict[str, list[str]]:
    """The first runs of a person's that stand in each file under `data_dir`; empty where there are none."""
    shared = {run for text in others.texts for run in _runs(text)}
    own = {run for text in mine.texts for run in _runs(text)} - shared
    vectors = set(mine.vectors) - set(others.vectors)
    forms = list({*(form for run in own for form in _forms(run)), *_of_vectors(vectors)})
    needles: dict[int, list[bytes]] = {}
    for key, needle in zip(
        _keys(b"".join(form[:_KEY_BYTES] for form in forms), _KEY_BYTES).tolist(), forms, strict=True
    ):
        needles.setdefault(key, []).append(needle)
    keys = np.array(sorted(needles), dtype=np.uint64)
    return {
        str(path.relative_to(data_dir)): found
        for path in sorted(data_dir.rglob("*"))
        if path.is_file() and (found := _found(path.read_bytes(), keys, needles))
    }


def _held(database: Path, whose: str) -> Held:
    texts: set[str] = set()
    vectors: list[bytes] = []
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        for (table,) in connection.execute(
            "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c ON c.name = 'user_id'"
        ).fetchall():
            for row in connection.execute(f"SELECT * FROM {table} WHERE user_id {whose}"):
                texts.update(value for value in row if isinstance(value, str))
                vectors += [value for value in row if isinstance(value, bytes)]
        if whose.startswith("IS NOT"):
            texts.update(row[0] for row in connection.execute("SELECT sql FROM sqlite_schema") if row[0])
    return Held(frozenset(texts), tuple(vectors))


def _runs(text: str) -> Iterator[str]:
    for start in range(len(text) - RUN + 1):
        yield text[start : start + RUN]


def _forms(run: str) -> Iterator[bytes]:
    plain = run.encode()
    yield plain
    yield run.encode("utf-16-le")
    yield run.encode("utf-16-be")
    for form in {json.dumps(run)[1:-1], json.dumps(run, ensure_ascii=False)[1:-1]} - {run}:
        yield form.encode()
        yield re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), form).encode()
    for start in range(
        3
    ):  # wherever a text begins in base64, three whole triples are in any twelve bytes of it
        coded = base64.b64encode(plain[start : start + 9])
        yield coded
        yield coded.replace(b"+", b"-").replace(b"/", b"_")


def _of_vectors(vectors: Iterable[bytes]) -> Iterator[bytes]:
    for raw in vectors:
        stored = np.frombuffer(raw, dtype=np.float32)
        # The vector index scales to length one again, which changes last digits.
        again = stored * (np.float32(1.0) / (np.float32(np.linalg.norm(stored)) + np.float32(1e-30)))
        for vector in (raw, again.tobytes()):
            for start in range(0, len(vector) - _KEY_BYTES + 1, _KEY_BYTES):
                yield vector[start : start + _KEY_BYTES]


def _keys(content: bytes, step: int = 1) -> NDArray[np.uint64]:
    """A number for the twelve bytes at each place, or at each `step`-th."""
    size = len(content) - _KEY_BYTES + 1
    at = np.empty(max(0, len(content) - 7), dtype=np.uint64)
    for offset in range(min(8, len(at))):
        at[offset::8] = np.frombuffer(content, dtype="<u8", offset=offset, count=(len(content) - offset) // 8)
    return np.asarray((at[:size] ^ (at[_KEY_BYTES - 8 :][:size] * _MIX))[::step])


def _found(content: bytes, keys: NDArray[np.uint64], needles: dict[int, list[bytes]]) -> list[str]:
    if len(content) < _KEY_BYTES or not len(keys):
        return []
    at = _keys(content)
    maybe = np.zeros(1 << _SIEVE_BITS, dtype=bool)
    maybe[keys >> np.uint64(64 - _SIEVE_BITS)] = True
    hits = np.flatnonzero(maybe[at >> np.uint64(64 - _SIEVE_BITS)])
    place = np.minimum(np.searchsorted(keys, at[hits]), len(keys) - 1)
    hits = hits[keys[place] == at[hits]]
    found = dict.fromkeys(
        repr(needle)
        for hit in hits[:_HITS_READ].tolist()
        for needle in needles[int(at[hit])]
        if content.startswith(needle, hit)
    )
    return [*found][:5]


if __name__ == "__main__":
    print(json.dumps(left(Path(sys.argv[1]), *pickle.load(sys.stdin.buffer))))
