"""The README's figures, as ratios in one run: `make bench`.

The denominator is one embedding of a fixed sentence of 12 words, cache off, one thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads a thread pool

import argparse
import asyncio
import logging
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import crowd, process, searching, writing
from benchmarks.measure import Row, embedding_seconds, table


async def _measure(folder: Path, *, quick: bool) -> list[Row]:
    unit = await embedding_seconds()
    rows = [Row("one embedding, 12 words", f"{unit * 1000:.1f} ms", "")]
    rows += process.start(folder / "process")
    rows += await writing.saving(folder / "saving", unit)
    rows += await writing.contexts(folder, sizes=(1_000,) if quick else (1_000, 10_000, 50_000))
    rows += await searching.measure(folder / "searching", quick=quick)
    rows += crowd.run(folder / "crowd", people=100 if quick else 2_000)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only small sizes")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine}")
    with tempfile.TemporaryDirectory() as folder:
        print(table(asyncio.run(_measure(Path(folder), quick=options.quick))))


if __name__ == "__main__":
    main()
