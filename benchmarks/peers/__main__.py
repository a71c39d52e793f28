"""The same work on keepsake and its peers, side by side: `make bench-peers DATA=folder`.

The folder holds LoCoMo (`locomo*.json`). Every system runs in processes of its own, on one thread, without a network,
one after the other. In brackets: multiples of one embedding of a fixed sentence by the same system's model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import locomo
from benchmarks.peers.leftovers import left, secrets
from benchmarks.peers.report import Figures, mean_recall, median, table
from benchmarks.peers.runner import ANSWERED
from benchmarks.peers.work import Said, Wanted, Work

ROOT = Path(__file__).resolve().parents[2]
_RESTARTS = 3
_PHASE_SECONDS = 900
_QUIET = {
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A system: its script in this package, the Python that runs it, and, for keepsake, the embedding model.

    `scales`: whether the store is measured by itself; with another model it is the same store. `named`: whether the
    speaker's name is written before each text. `vectors`: whether it keeps any.
    """

    name: str
    script: str
    python: str
    model: str = "multilingual-e5-small"
    scales: bool = True
    named: bool = False
    vectors: bool = True


def candidates() -> list[Candidate]:
    mem0, langgraph = (f"{ROOT}/.venv-peers/{name}/bin/python" for name in ("mem0", "langgraph"))
    store = f"langgraph SqliteStore {locked('langgraph', 'langgraph-checkpoint-sqlite')}"
    return [
        Candidate("keepsake", "keepsake", sys.executable),
        Candidate("keepsake, MiniLM", "keepsake", sys.executable, "all-MiniLM-L6-v2", scales=False),
        Candidate(f"mem0 {locked('mem0', 'mem0ai')}, Chroma", "mem0", mem0),
        Candidate(store, "langgraph", langgraph),
        Candidate(f"{store}, the speaker before each text", "langgraph", langgraph, scales=False, named=True),
        Candidate("FTS5 alone", "fts5", sys.executable, vectors=False),
    ]


def locked(environment: str, package: str) -> str:
    """The version that stands in the environment's lock file."""
    lock = (ROOT / "lock" / f"peer-{environment}.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(package)}==(\S+)", lock, re.MULTILINE)
    assert found is not None
    return found[1]


def work_of(talks: Sequence[locomo.Conversation], sizes: Sequence[int]) -> Work:
    """Conversations as messages of one user each, and a last user who is deleted afterwards."""
    messages: list[Said] = []
    questions: list[Wanted] = []
    for user, talk in enumerate(talks, 1):
        ids = {turn.key: number for number, turn in enumerate(talk.turns, len(messages) + 1)}
        messages += [
            Said(ids[turn.key], user, turn.speaker, turn.text, turn.said_at.isoformat())
            for turn in talk.turns
        ]
        questions += [
            Wanted(user, query.text, tuple(ids[key] for key in query.evidence)) for query in talk.questions
        ]
    hidden = secrets(len(talks) + 1, len(messages) + 1)
    return Work(tuple(messages), tuple(questions), hidden, tuple(sorted(sizes)))


def measure(one: Candidate, work: Work, folder: Path) -> Figures:
    """All phases of one system, in `folder`."""
    folder.mkdir(parents=True)
    file, kept = folder / "work.json", folder / "kept"
    _written(one, work).save(file)
    filled = _run(one, "fill", file, kept)
    vectors = [bytes.fromhex(vector) for vector in filled["vectors"]]
    if left(kept, work.secrets, vectors)[0] != len(work.secrets):
        raise SystemExit(
            f"{one.name}: what is to be deleted does not stand on disk; nothing can be said of it"
        )
    restarts = [_seconds_to_answer(one, file, kept) for _ in range(_RESTARTS)]
    if _run(one, "erase", file, kept)["found"]:
        raise SystemExit(f"{one.name}: the deleted user's messages are still found")
    scaled = _run(one, "scale", file, folder / "scale")["searches"] if one.scales and work.sizes else {}
    return Figures(
        name=one.name,
        recall=mean_recall(filled["found"], [question.needs for question in work.questions]),
        add=median(filled["adds"]),
        indexed=filled["whole"] / len(work.messages),
        add_unit=median(filled["add_units"]),
        search=median(filled["searches"]),
        unit=median(filled["units"]),
        store={int(size): median(seconds) for size, seconds in scaled.items()},
        restart=median(restarts),
        left=left(kept, work.secrets, vectors),
    )


def _written(one: Candidate, work: Work) -> Work:
    """The work as this system is given it."""
    if not one.named:
        return work
    named = tuple(replace(said, text=f"{said.speaker}: {said.text}") for said in work.messages)
    return replace(work, messages=named)


def _command(one: Candidate, phase: str, file: Path, folder: Path) -> list[str]:
    return [one.python, "-m", f"benchmarks.peers.{one.script}", phase, str(file), str(folder)]


def _environment(one: Candidate, file: Path) -> dict[str, str]:
    home = str(file.parent / "home")
    own = {"HOME": home, "MEM0_DIR": home, "EMBEDDING_MODEL": one.model}
    return {**os.environ, **_QUIET, **own}


def _run(one: Candidate, phase: str, file: Path, folder: Path) -> dict[str, Any]:
    begun = time.perf_counter()
    done = subprocess.run(
        _command(one, phase, file, folder),
        cwd=ROOT,
        env=_environment(one, file),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PHASE_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{one.name}, {phase}: exit status {done.returncode}\n{done.stderr}")
    print(f"{one.name}, {phase}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _seconds_to_answer(one: Candidate, file: Path, folder: Path) -> float:
    begun = time.perf_counter()
    with subprocess.Popen(
        _command(one, "answer", file, folder),
        cwd=ROOT,
        env=_environment(one, file),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == ANSWERED:
                seconds = time.perf_counter() - begun
                process.stdout.read()
                return seconds
    raise SystemExit(f"{one.name}: no answer after a restart")


def heading(work: Work) -> str:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    asked = f"{len(work.messages):,} messages of {len({one.user for one in work.messages})} users"
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine}: {asked}, {len(work.questions):,} questions."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("data", type=Path, help="folder with locomo*.json")
    parser.add_argument("--conversations", type=int, default=2, help="so many, the first ones")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    parser.add_argument("--only", nargs="*", help="scripts to run, of keepsake mem0 langgraph fts5")
    parser.add_argument("--quick", action="store_true", help="one conversation, a thousand messages")
    options = parser.parse_args()
    talks = [
        talk for path in sorted(options.data.glob("locomo*.json")) for talk in locomo.conversations(path)
    ]
    if not talks:
        parser.error(f"{options.data} holds no locomo*.json")
    most, sizes = (1, [1_000]) if options.quick else (options.conversations, options.sizes)
    work = work_of(talks[:most], sizes)
    chosen = [one for one in candidates() if not options.only or one.script in options.only]
    rows: list[Figures] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(chosen):
            rows.append(measure(one, work, Path(folder) / str(number)))
            print(table(rows[-1:], work.sizes).splitlines()[-1], file=sys.stderr, flush=True)
    print(f"{heading(work)}\n\n{table(rows, work.sizes)}")


if __name__ == "__main__":
    main()
