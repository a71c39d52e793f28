"""The lock of the data folder, between processes and within one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from keepsake.errors import DataDirError, FolderHeld
from keepsake.lock import FolderLock, held, holder
from keepsake.settings import PROJECT_DIR

HOLDER = """
import sys, time
from pathlib import Path
from keepsake.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(600)
"""


def hold_elsewhere(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True, cwd=PROJECT_DIR
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_makes_the_folder_private(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    with FolderLock(folder) as lock:
        assert lock.acquired
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not lock.acquired


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    process = hold_elsewhere(tmp_path)
    try:
        with pytest.raises(FolderHeld, match=f"process {process.pid}") as caught:
            FolderLock(tmp_path).acquire()
        assert caught.value.exit_status == 3
        assert held(tmp_path)
        assert holder(tmp_path) == process.pid, "trying the lock must not wipe what its file says"
    finally:
        kill(process)


def test_death_of_the_holder_releases(tmp_path: Path) -> None:
    kill(hold_elsewhere(tmp_path))
    assert not held(tmp_path)
    with FolderLock(tmp_path):
        assert holder(tmp_path) == os.getpid()


def test_a_second_lock_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with FolderLock(tmp_path), pytest.raises(FolderHeld):
        FolderLock(tmp_path).acquire()
    with FolderLock(tmp_path) as again:
        assert again.acquired


def test_held_neither_takes_nor_makes(tmp_path: Path) -> None:
    assert not held(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    with FolderLock(tmp_path):
        assert held(tmp_path)
    assert not held(tmp_path)
    with FolderLock(tmp_path):
        pass


def test_release_twice_is_harmless(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.acquire()
    lock.release()
    lock.release()
    assert not held(tmp_path)


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataDirError) as caught:
        FolderLock(tmp_path / "file").acquire()
    assert not isinstance(caught.value, FolderHeld)
    assert "\n" not in str(caught.value)
    assert "DATA_DIR" in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_read_only_folder_is_one_line(tmp_path: Path) -> None:
    # Root may write everywhere but where the kernel itself says no.
    folder = Path("/sys") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o500)
    with pytest.raises(DataDirError, match="cannot be written"):
        FolderLock(folder).acquire()
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["keepsake.lock", "keepsake.pid"])
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(DataDirError, match=f"{name} is a folder"):
        FolderLock(tmp_path).acquire()
    (tmp_path / name).rmdir()
    with FolderLock(tmp_path):
        pass
