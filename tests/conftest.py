"""Every test gets a home, a working folder and an environment of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from keepsake.settings import Settings, load_settings

_KEPT = {"PATH", "LANG", "LC_ALL", "TMPDIR", "OMP_NUM_THREADS", "PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME"}

KILL_ROUNDS, KILL_ROUNDS_IN_SOAK = 20, 200

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is where a shell runs the tests in the background, and every process that they start would take that over.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kill-rounds",
        type=int,
        help=f"how often a process is killed in each test of that; {KILL_ROUNDS}, or {KILL_ROUNDS_IN_SOAK} in soak",
    )


@pytest.fixture
def kill_rounds(request: pytest.FixtureRequest) -> int:
    """How often a test kills what it tests."""
    chosen: int | None = request.config.getoption("--kill-rounds")
    in_soak = request.node.get_closest_marker("soak") is not None
    return chosen or (KILL_ROUNDS_IN_SOAK if in_soak else KILL_ROUNDS)


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine reaches a test, and none of a test stays behind."""
    for name in set(os.environ) - _KEPT:
        if not name.startswith(("PYTEST_", "COVERAGE", "COV_")):
            monkeypatch.delenv(name)
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LOCAL_MODEL", "none")
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The folder that DATA_DIR names; nothing is in it yet."""
    return tmp_path / "data"


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    """Default settings over `data_dir`."""
    return load_settings()
