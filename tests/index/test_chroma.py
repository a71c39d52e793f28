"""ChromaDB in its child process: right answers, and no harm from whatever happens to child or folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from keepsake.errors import CollectionLost, VectorIndexError
from keepsake.index.chroma import FAILURES_TO_PAUSE, PAUSE_SECONDS, ChromaIndex
from keepsake.index.chroma_folder import folder_lock
from keepsake.index.chroma_process import child_environment
from keepsake.index.exact import top
from keepsake.index.vectors import unit

DIMENSION = 32
ALICE, BOB = "u-alice-4f1c", "u-bob-77aa"


def rows(count: int, seed: int = 0) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32))


def names(count: int, start: int = 0) -> list[str]:
    return [f"m{number}" for number in range(start, start + count)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "vector_db"


@pytest.fixture
async def index(folder: Path) -> AsyncIterator[ChromaIndex]:
    index = ChromaIndex(folder)
    yield index
    await index.close()


async def _filled(index: ChromaIndex, count: int = 30) -> NDArray[np.float32]:
    vectors = rows(count)
    await index.upsert(ALICE, names(count), vectors)
    return vectors


async def test_query_agrees_with_exact_search(index: ChromaIndex) -> None:
    vectors = rows(1200)
    await index.upsert(ALICE, names(1200), vectors)
    for query in rows(5, seed=1):
        found = await index.query(ALICE, query, 10)
        positions, scores = top(vectors, query, 10)
        assert [name for name, _ in found] == [f"m{position}" for position in positions]
        np.testing.assert_allclose([score for _, score in found], scores, atol=1e-4)


async def test_upsert_replaces_and_collections_keep_users_apart(index: ChromaIndex) -> None:
    vectors = await _filled(index)
    await index.upsert(ALICE, names(30), vectors[::-1])
    await index.upsert(BOB, ["f1"], vectors[:1])
    assert await index.collections() == {ALICE: 30, BOB: 1}
    assert (await index.query(ALICE, vectors[0], 1))[0][0] == "m29"
    assert [name for name, _ in await index.query(BOB, vectors[0], 10)] == ["f1"]


async def test_deleted_ids_are_not_found(index: ChromaIndex) -> None:
    vectors = await _filled(index)
    await index.delete_ids(ALICE, ["m3", "m4"])
    assert await index.count(ALICE) == 28
    assert {"m3", "m4"}.isdisjoint(name for name, _ in await index.query(ALICE, vectors[3], 30))


async def test_an_id_twice_is_a_wrong_argument(index: ChromaIndex) -> None:
    with pytest.raises(ValueError, match="once"):
        await index.upsert(ALICE, ["m1", "m1"], rows(2))


async def test_an_unknown_collection_is_lost_not_empty(index: ChromaIndex) -> None:
    with pytest.raises(CollectionLost) as caught:
        await index.query(ALICE, rows(1)[0], 5)
    assert caught.value.handle == ALICE


async def test_vectors_of_another_dimension_lose_the_collection_and_heal(index: ChromaIndex) -> None:
    await _filled(index)
    await index.upsert(BOB, ["m1"], rows(1))
    other = np.ones((1, DIMENSION * 2), dtype=np.float32)
    with pytest.raises(CollectionLost):
        await index.upsert(ALICE, ["m1"], other)
    await index.upsert(ALICE, ["m1"], other)
    assert await index.collections() == {ALICE: 1, BOB: 1}


async def test_content_and_identity_survive_a_restart(index: ChromaIndex, folder: Path) -> None:
    vectors = await _filled(index)
    identity = await index.identity()
    await index.close()
    again = ChromaIndex(folder)
    assert await again.identity() == identity
    assert again.child_pid is None
    assert (await again.query(ALICE, vectors[7], 1))[0][0] == "m7"
    assert again.generation == 0
    await again.close()


async def test_the_child_stops_when_idle_and_starts_again(folder: Path) -> None:
    index = ChromaIndex(folder, idle_seconds=0.2)
    vectors = await _filled(index)
    assert index.child_pid is not None
    with suppress(psutil.NoSuchProcess):
        await asyncio.to_thread(psutil.Process(index.child_pid).wait, 20)
    await index.identity()  # waits for the thread that stops the child
    assert (await index.query(ALICE, vectors[7], 1))[0][0] == "m7"
    await index.close()


def test_it_works_across_event_loops(folder: Path) -> None:
    index = ChromaIndex(folder)
    vectors = asyncio.run(_filled(index))
    assert asyncio.run(index.query(ALICE, vectors[7], 1))[0][0] == "m7"
    asyncio.run(index.close())
    assert asyncio.run(index.count(ALICE)) == 30
    asyncio.run(index.close())


async def test_sigkill_in_mid_upsert_loses_nothing_acknowledged_in_silence(index: ChromaIndex) -> None:
    """What was acknowledged is found, or its loss is reported; Chroma may be damaged while it persists."""
    vectors, acknowledged, found = rows(3000), 0, 0
    for delay in (0.05, 0.3, 0.6):
        generation = index.generation
        await index.upsert(BOB, ["m0"], vectors[:1])  # the child runs
        assert index.child_pid is not None
        asyncio.get_running_loop().call_later(delay, os.kill, index.child_pid, signal.SIGKILL)
        with suppress(VectorIndexError):
            while acknowledged < len(vectors):
                part = slice(acknowledged, acknowledged + 50)
                await index.upsert(ALICE, names(50, acknowledged), vectors[part])
                acknowledged += 50
        try:
            held = await index.count(ALICE) if acknowledged else 0
            for position in range(0, acknowledged, 97):
                assert (await index.query(ALICE, vectors[position], 1))[0][0] == f"m{position}"
                found += 1
        except VectorIndexError:
            acknowledged = 0  # reported: the caller fills it again
        else:
            assert held >= acknowledged or index.generation > generation
    assert found


async def test_a_killed_child_is_an_error_once_and_then_starts_again(index: ChromaIndex) -> None:
    vectors = await _filled(index)
    pid = index.child_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    call = asyncio.create_task(index.query(ALICE, vectors[7], 1))
    await asyncio.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(VectorIndexError):
        await call
    assert (await index.query(ALICE, vectors[7], 1))[0][0] == "m7"


async def test_a_child_that_hangs_is_ended(folder: Path) -> None:
    index = ChromaIndex(folder, call_timeout=0.5)
    vectors = await _filled(index)
    pid = index.child_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(VectorIndexError, match="in time"):
        await index.query(ALICE, vectors[7], 1)
    assert not psutil.pid_exists(pid)
    assert (await index.query(ALICE, vectors[7], 1))[0][0] == "m7"
    await index.close()


async def test_a_garbage_database_is_made_anew_by_itself(index: ChromaIndex, folder: Path) -> None:
    vectors = await _filled(index)
    identity = await index.identity()
    await index.close()
    (folder / "chroma.sqlite3").write_bytes(os.urandom(100_000))
    generation = index.generation
    with pytest.raises(CollectionLost):
        await index.query(ALICE, vectors[0], 1)
    assert index.generation == generation + 1
    assert await index.identity() != identity
    await _filled(index)
    assert await index.count(ALICE) == 30


@pytest.mark.parametrize("damage", ["truncated", "garbage", "missing"])
async def test_damaged_index_files_are_noticed_and_heal(folder: Path, damage: str) -> None:
    index = ChromaIndex(folder, call_timeout=4)  # a query over a truncated file never ends
    vectors = rows(1200)  # above the threshold at which Chroma writes the files
    await index.upsert(ALICE, names(1200), vectors)
    await index.close()
    _damage(folder, damage)
    for _ in range(4):
        try:
            found = await index.query(ALICE, vectors[0], 1)
        except CollectionLost:
            await index.upsert(ALICE, names(1200), vectors)
        except VectorIndexError:
            continue
        else:
            assert found[0][0] == "m0"
            break
    else:
        pytest.fail("the index did not heal")
    await index.close()


def _damage(folder: Path, damage: str) -> None:
    for file in list(folder.glob("*-*/*.bin")):
        if damage == "truncated":
            os.truncate(file, file.stat().st_size // 3)
        elif damage == "garbage":
            file.write_bytes(os.urandom(max(100, file.stat().st_size)))
        else:
            file.unlink()


async def test_a_folder_removed_by_hand_while_it_runs_is_noticed(index: ChromaIndex, folder: Path) -> None:
    await _filled(index)
    generation, identity = index.generation, await index.identity()
    shutil.rmtree(folder)
    await index.upsert(BOB, ["m1"], rows(1))
    assert index.generation == generation + 1
    assert await index.identity() != identity
    assert await index.collections() == {BOB: 1}


async def test_a_folder_removed_between_runs_has_another_identity(index: ChromaIndex, folder: Path) -> None:
    await _filled(index)
    identity = await index.identity()
    await index.close()
    shutil.rmtree(folder)
    assert await ChromaIndex(folder).identity() != identity


async def test_wipe_removes_a_giant_sparse_file_too(index: ChromaIndex, folder: Path) -> None:
    await _filled(index)
    with (folder / "link_lists.bin").open("wb") as file:
        file.truncate(200 * 2**30)
    generation = index.generation
    await index.wipe()
    assert index.generation == generation + 1
    assert await index.collections() == {}


async def test_a_deleted_collection_leaves_no_byte(index: ChromaIndex, folder: Path) -> None:
    vectors = rows(1200)
    await index.upsert(ALICE, [f"secret-{i}" for i in range(1200)], vectors)
    await index.upsert(BOB, names(30), vectors[:30] * -1)
    needles = [b"secret-", ALICE.encode(), *(vector.tobytes() for vector in vectors)]
    assert all(_holds(folder, needle) for needle in needles[:2])
    await index.delete_collection(ALICE)
    assert [needle[:8] for needle in needles if _holds(folder, needle)] == []
    assert len(_segments(folder)) == 1
    assert await index.collections() == {BOB: 30}
    await index.delete_collection(ALICE)  # again: nothing to do


def _segments(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()]


def _holds(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_folder_held_by_another_process_is_not_wiped(index: ChromaIndex, folder: Path) -> None:
    vectors = await _filled(index)
    await index.close()
    identity = await index.identity()
    impatient = ChromaIndex(folder, start_timeout=1)
    with folder_lock(folder, 1), pytest.raises(VectorIndexError, match="held by another"):
        await impatient.query(ALICE, vectors[7], 1)
    await impatient.close()
    assert await index.identity() == identity
    assert (await index.query(ALICE, vectors[7], 1))[0][0] == "m7"


async def test_a_folder_that_cannot_be_made_pauses_the_index(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    now = [0.0]
    index = ChromaIndex(tmp_path / "file" / "vector_db", monotonic=lambda: now[0])
    for _ in range(FAILURES_TO_PAUSE):
        with pytest.raises(VectorIndexError, match="cannot be made"):
            await index.collections()
    with pytest.raises(VectorIndexError, match="later"):
        await index.collections()
    now[0] += PAUSE_SECONDS
    with pytest.raises(VectorIndexError, match="cannot be made"):
        await index.collections()
    await index.close()


async def test_many_users_keep_the_child_small(index: ChromaIndex) -> None:
    """Each touched collection costs 3 MB and 4 files: without a bound 150 of them take over 500 MB."""
    for user in range(150):
        await index.upsert(f"user-{user:05d}", names(5), rows(5, seed=user))
    for user in range(0, 150, 7):
        assert (await index.query(f"user-{user:05d}", rows(5, seed=user)[2], 1))[0][0] == "m2"
    assert index.child_pid is not None
    child = psutil.Process(index.child_pid)
    assert child.num_fds() < 400
    assert child.memory_info().rss < 250e6


def test_the_child_ends_with_its_parent_even_one_killed(folder: Path) -> None:
    code = (
        "import asyncio, sys, numpy as np\n"
        "from pathlib import Path\n"
        "from keepsake.index.chroma import ChromaIndex\n"
        "async def main():\n"
        "    index = ChromaIndex(Path(sys.argv[1]))\n"
        "    await index.upsert('handle', ['m1'], np.ones((1, 4), dtype=np.float32))\n"
        "    print(index.child_pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(20)
    assert not child.is_running()


def test_the_child_is_not_handed_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", "CHROMA_SERVER_HOST"):
        monkeypatch.setenv(name, "x")
    environment = child_environment()
    assert not {"TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", "CHROMA_SERVER_HOST"} & set(environment)
    assert environment["PATH"] == os.environ["PATH"]
