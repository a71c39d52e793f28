"""Erasing over a real database: nothing of the person is left in any file, and nothing else is gone."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from keepsake.clock import to_micros
from keepsake.errors import VectorIndexError
from keepsake.forgetting import registry
from keepsake.forgetting.erase import delete_rows, erase_user, strip_job
from keepsake.forgetting.ledger import Ledger
from keepsake.store import embeddings, jobs, users
from keepsake.store.database import Database, connect_reader
from tests.forgetting.rows import MODEL, NOW, fill

PERSON, OTHER = 5, 55


class FolderCollections:
    """A vector index that keeps each collection as a file, as far as erasing needs one."""

    def __init__(self, folder: Path, *, broken: bool = False) -> None:
        self.folder = folder
        self.broken = broken
        self.generation = 0
        folder.mkdir(exist_ok=True)

    def put(self, handle: str, vectors: bytes) -> None:
        (self.folder / handle).write_bytes(vectors)

    async def delete_collection(self, handle: str) -> None:
        if self.broken:
            raise VectorIndexError("the index did not answer")
        (self.folder / handle).unlink(missing_ok=True)

    async def wipe(self) -> None:
        self.generation += 1
        for path in self.folder.iterdir():
            path.unlink()


@pytest.fixture
async def db(folder: Path) -> AsyncIterator[Database]:
    database = await Database.open(folder / "memory.db")
    yield database
    await database.close()


def sentences(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    words = [
        f"{draw.choice('bcdfgklmnprst')}{draw.getrandbits(44):x}слово{draw.getrandbits(20):x}"
        for _ in range(300)
    ]
    return [" ".join(draw.choices(words, k=draw.randint(3, 40))) for _ in range(count)]


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def plans(folder: Path) -> list[Path]:
    return list(folder.glob("erasing-*"))


def dump(connection: sqlite3.Connection, user_id: int) -> dict[str, list[tuple[object, ...]]]:
    return {
        entry.name: connection.execute(
            f"SELECT * FROM {entry.name} WHERE {entry.owner}", registry.parameters(user_id)
        ).fetchall()
        for entry in registry.owned()
    }


def words_of(connection: sqlite3.Connection, user_id: int) -> list[tuple[object, ...]]:
    return connection.execute(
        "SELECT * FROM keyword_places WHERE term >= ? AND term < ? ORDER BY 1, 2, 3, 4",
        (f"{user_id}:", f"{user_id};"),
    ).fetchall()


async def test_nothing_of_the_person_is_left_and_nothing_of_others_is_touched(
    db: Database, folder: Path
) -> None:
    own, others = sentences(1, 300), sentences(2, 300)
    for start in range(0, 300, 10):  # in turns, so that their rows and index segments share pages
        await db.write(fill, PERSON, own[start : start + 10])
        await db.write(fill, OTHER, others[start : start + 10])
    chroma = FolderCollections(folder / "vector_db")
    keys, vectors = await db.read(embeddings.load, PERSON, MODEL)
    handle = await db.read(users.handle, PERSON)
    assert handle is not None
    chroma.put(handle, vectors.tobytes())
    before = await db.read(dump, OTHER), await db.read(words_of, OTHER)

    receipt = await erase_user(db=db, chroma=chroma, data_dir=folder, user_id=PERSON, now=NOW)

    assert receipt is not None
    assert receipt.left == 0, receipt.left_in
    assert receipt.counts["messages"] == 300
    assert receipt.counts["embeddings"] == len(keys) == 300
    assert receipt.counts["users"] == 1
    assert (await db.read(dump, OTHER), await db.read(words_of, OTHER)) == before
    assert not any((await db.read(registry.count_rows, PERSON)).values())
    content = bytes_of(folder)
    words = {word for sentence in own for word in sentence.split()}
    assert [word for word in words if word.encode() in content] == []
    assert [word for word in words if word[4:].lower().encode() in content] == [], "of the keyword index"
    assert [row for row in vectors if row[:4].tobytes() in content] == []
    assert handle.encode() not in content
    assert others[0].encode() in content
    assert Ledger(folder).check() == []
    with closing(connect_reader(db.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await db.write(
        lambda c: c.execute("INSERT INTO keyword_index (keyword_index) VALUES ('integrity-check')")
    )


async def test_the_write_ahead_log_of_the_open_database_is_not_lost(db: Database, folder: Path) -> None:
    """Reading memory.db by other means drops our locks: the next process to close it deletes the log."""
    await db.write(fill, PERSON, sentences(1, 3))
    await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW)
    count = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        " print(c.execute('SELECT count(*) FROM messages').fetchone()[0]); c.close()"
    )
    for expected in (3, 6):
        await db.write(fill, OTHER, sentences(2, 3))
        seen = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", count, str(db.path)], capture_output=True, text=True
        )
        assert seen.stdout.strip() == str(expected)


async def test_a_short_word_leaves_no_trace_either(db: Database, folder: Path) -> None:
    """Terms survive in segments of the keyword index after many deletions, unless these are merged."""
    for number in range(250):
        await db.write(fill, PERSON, [f"zqxj{number}kv is a word of mine"])
        await db.write(fill, OTHER, [f"hello number {number}"])
    await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW)
    assert b"zqxj" not in bytes_of(folder)
    assert b"5kv" not in bytes_of(folder)


async def test_nobody_is_told_so_and_leaves_no_line(db: Database, folder: Path) -> None:
    await db.write(fill, OTHER, ["somebody else wrote this"])
    assert await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW) is None
    assert not Ledger(folder).path.exists()


async def test_a_person_who_only_chose_a_language_is_erased(db: Database, folder: Path) -> None:
    await db.write(users.set_language, PERSON, "ru", to_micros(NOW))
    receipt = await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW)
    assert receipt is not None
    assert receipt.counts["users"] == 1


async def test_the_owner_of_the_bot_is_no_longer_named(db: Database, folder: Path) -> None:
    await db.write(users.set_meta, "owner", str(PERSON))
    await db.write(users.set_meta, "model", str(PERSON))
    await db.write(fill, PERSON, ["I own this installation"])
    await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW)
    assert await db.read(users.get_meta, "owner") is None
    assert await db.read(users.get_meta, "model") == str(PERSON)


async def test_an_index_that_cannot_delete_is_made_anew(db: Database, folder: Path) -> None:
    await db.write(fill, PERSON, sentences(1, 3))
    await db.write(fill, OTHER, sentences(2, 3))
    keys, _ = await db.read(embeddings.load, OTHER, MODEL)
    await db.write(embeddings.mark_in_chroma, OTHER, keys)
    chroma = FolderCollections(folder / "vector_db", broken=True)
    _, vectors = await db.read(embeddings.load, PERSON, MODEL)
    chroma.put(str(await db.read(users.handle, PERSON)), vectors.tobytes())

    receipt = await erase_user(db=db, chroma=chroma, data_dir=folder, user_id=PERSON, now=NOW)

    assert receipt is not None
    assert receipt.left == 0
    waiting, _ = await db.read(embeddings.load, OTHER, MODEL, only_pending=True)
    assert waiting == keys
    assert await db.read(jobs.pending, ["chroma"], to_micros(NOW))


async def test_an_index_of_former_times_goes_where_none_is_used(db: Database, folder: Path) -> None:
    await db.write(fill, PERSON, sentences(1, 3))
    _, vectors = await db.read(embeddings.load, PERSON, MODEL)
    FolderCollections(folder / "vector_db").put("u-old", vectors.tobytes())
    receipt = await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW)
    assert receipt is not None
    assert receipt.left == 0
    assert not (folder / "vector_db").exists()


async def test_a_copy_beside_the_database_is_found_and_named(db: Database, folder: Path) -> None:
    own = sentences(1, 3)
    await db.write(fill, PERSON, own)
    (folder / "notes.txt").write_text(own[1], encoding="utf-8")
    receipt = await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW)
    assert receipt is not None
    assert set(receipt.left_in) == {"notes.txt"}
    assert receipt.left == receipt.left_in["notes.txt"] > 0


async def test_waits_for_a_reader_that_still_sees_the_old_pages(db: Database, folder: Path) -> None:
    own = sentences(1, 50)
    await db.write(fill, PERSON, own)
    with closing(connect_reader(db.path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM messages").fetchone() == (50,)
        task = asyncio.create_task(erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=NOW))
        while any((await db.read(registry.count_rows, PERSON)).values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        reader.execute("COMMIT")
        receipt = await task
    assert receipt is not None
    assert receipt.left == 0
    assert own[0].encode() not in bytes_of(folder)


class KilledError(Exception):
    """Stands for SIGKILL at a step that a test chose."""


class KillingCollections(FolderCollections):
    async def delete_collection(self, handle: str) -> None:
        raise KilledError


async def test_an_erasure_killed_after_the_rows_are_gone_is_finished_and_still_scans(
    db: Database, folder: Path
) -> None:
    own = sentences(1, 20)
    await db.write(fill, PERSON, own)
    handle = str(await db.read(users.handle, PERSON))
    (folder / "notes.txt").write_text(own[7], encoding="utf-8")
    index_dir = folder / "vector_db"
    with pytest.raises(KilledError):
        await erase_user(
            db=db, chroma=KillingCollections(index_dir), data_dir=folder, user_id=PERSON, now=NOW
        )
    assert not any((await db.read(registry.count_rows, PERSON)).values())
    assert not Ledger(folder).path.exists()
    unfinished = plans(folder)
    assert len(unfinished) == 1
    assert not any(sentence[:12].encode() in unfinished[0].read_bytes() for sentence in own)

    chroma = FolderCollections(index_dir)
    chroma.put(handle, b"vectors")
    receipt = await erase_user(db=db, chroma=chroma, data_dir=folder, user_id=PERSON, now=NOW)

    assert receipt is not None
    assert receipt.counts["messages"] == 20
    assert set(receipt.left_in) == {"notes.txt"}
    assert list(index_dir.iterdir()) == []
    assert plans(folder) == []


async def test_a_second_run_of_the_same_job_gives_the_same_receipt(db: Database, folder: Path) -> None:
    await db.write(fill, PERSON, sentences(1, 3))
    await db.write(jobs.enqueue, "erase", str(PERSON), to_micros(NOW), user_id=PERSON)
    assert await db.write(jobs.claim, "erase", to_micros(NOW)) is not None
    later = NOW + timedelta(seconds=2)
    first = await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=later)
    again = await erase_user(db=db, chroma=None, data_dir=folder, user_id=PERSON, now=later)
    assert first is not None
    assert again == first
    assert len(Ledger(folder).path.read_text().splitlines()) == 1


async def test_the_job_itself_names_nobody_at_the_end(db: Database) -> None:
    job_id = await db.write(
        jobs.enqueue, "erase", str(PERSON), to_micros(NOW), user_id=PERSON, payload={"reply": True}
    )
    assert job_id is not None
    await db.write(strip_job, job_id)
    row = await db.read(lambda c: c.execute("SELECT user_id, key, payload FROM jobs").fetchone())
    assert row == (None, f"erase-{job_id}", '{"reply": true}')


async def test_background_work_in_flight_cannot_write_back(db: Database) -> None:
    await db.write(fill, PERSON, sentences(1, 2))
    keys, vectors = await db.read(embeddings.load, PERSON, MODEL)
    await db.write(delete_rows, PERSON)
    rows = [(kind, item, vector) for (kind, item), vector in zip(keys, vectors, strict=True)]
    assert await db.write(embeddings.store, PERSON, MODEL, rows) == []
    assert not any((await db.read(registry.count_rows, PERSON)).values())
