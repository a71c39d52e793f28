"""The child process in which ChromaDB lives: `python -m … FD FOLDER LOCK HANG_SECONDS`.

It answers requests on the socket FD one by one, and ends when the other side is gone. Requests are pickled
tuples (method, *arguments); answers are ("ok", result), ("missing", None) where there is no such collection,
or ("error", text). While it starts it reports "waiting", "locked", "imported" and "ready".
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

OPEN_COLLECTIONS = 40
"""Collections touched before the client is opened anew.

Each costs about 3 MB and 4 open files. Chroma's own cache never holds fewer than about 64 of them whatever it
is told; opening anew takes about 50 ms and gives all back.
"""
FILES_PER_COLLECTION = 5  # Chroma divides RLIMIT_NOFILE by this for the size of its cache
EF_SEARCH = 200  # set when a collection is made; later changes have no effect
SYNC_THRESHOLD = 1000
PAGE = 500


class Worker:
    """The one Chroma client of the process, and what may be asked of it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._client: Client | None = None
        self._touched: dict[str, Collection | None] = {}
        self.methods: dict[str, Callable[..., object]] = {
            "upsert": self.upsert,
            "query": self.query,
            "count": self.count,
            "collections": self.collections,
            "delete_ids": self.delete_ids,
            "delete_collection": self.delete_collection,
        }

    def open(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, OPEN_COLLECTIONS * FILES_PER_COLLECTION), hard))
        try:
            self._client = _client(self._folder)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self._client.count_collections()

    def close(self) -> None:
        from chromadb.api.shared_system_client import SharedSystemClient

        if self._client is not None:
            self._client.close()
            self._client = None
        SharedSystemClient.clear_system_cache()
        self._touched.clear()

    def reopen(self) -> None:
        self.close()
        gc.collect()
        _trim()
        self.open()

    def upsert(self, handle: str, ids: list[str], vectors: NDArray[np.float32]) -> None:
        self._touch(handle)
        collection = self._opened.get_or_create_collection(
            handle,
            configuration={
                "hnsw": {"space": "cosine", "ef_search": EF_SEARCH, "sync_threshold": SYNC_THRESHOLD}
            },
            embedding_function=None,
        )
        collection.upsert(ids=ids, embeddings=vectors)

    def query(self, handle: str, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        found = self._collection(handle).query(
            query_embeddings=np.atleast_2d(vector), n_results=k, include=["distances"]
        )
        distances = found["distances"]
        assert distances is not None
        return [
            (item, 1.0 - float(distance))
            for item, distance in zip(found["ids"][0], distances[0], strict=True)
        ]

    def count(self, handle: str) -> int:
        return self._collection(handle).count()

    def collections(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        while page := self._opened.list_collections(limit=PAGE, offset=len(counts)):
            for collection in page:
                counts[collection.name] = collection.count()
        return counts

    def delete_ids(self, handle: str, ids: list[str]) -> None:
        self._collection(handle).delete(ids=ids)

    def delete_collection(self, handle: str) -> None:
        self._touched.pop(handle, None)
        self._opened.delete_collection(handle)

    @property
    def _opened(self) -> Client:
        assert self._client is not None
        return self._client

    def _collection(self, handle: str) -> Collection:
        self._touch(handle)
        collection = self._touched[handle]
        if collection is None:  # asking for it costs a tenth of a query
            collection = self._opened.get_collection(handle, embedding_function=None)
            self._touched[handle] = collection
        return collection

    def _touch(self, handle: str) -> None:
        if handle not in self._touched and len(self._touched) >= OPEN_COLLECTIONS:
            self.reopen()
        self._touched.setdefault(handle, None)


def answer(worker: Worker, method: str, arguments: tuple[Any, ...]) -> tuple[str, object]:
    """Runs one request. After an error it is tried once more with the client opened anew."""
    from chromadb.errors import ChromaError, NotFoundError

    call = worker.methods[method]
    for last_try in (False, True):
        try:
            return "ok", call(*arguments)
        except NotFoundError:
            return "missing", None
        except (ChromaError, ValueError, RuntimeError, OSError) as error:
            if last_try:
                return "error", f"{type(error).__name__}: {error}"[:300]
        worker.reopen()
    raise AssertionError("unreachable")


def serve(connection: Connection[Any, Any], folder: str, lock: str, hang_seconds: float) -> None:
    """Starts, then answers until the other side is gone."""
    with _watchdog(hang_seconds * 2):
        connection.send("waiting")
        held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)  # until an older child of a killed bot is gone; held until we end
        connection.send("locked")
        import chromadb  # noqa: F401

        connection.send("imported")
        worker = Worker(folder)
        worker.open()
        connection.send("ready")
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            break
        with _watchdog(hang_seconds):
            connection.send(answer(worker, method, tuple(arguments)))
    with _watchdog(hang_seconds):
        worker.close()


def _client(folder: str) -> Client:
    import chromadb
    from chromadb.api.client import Client
    from chromadb.config import Settings

    client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
    assert isinstance(client, Client)
    return client


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    """Ends the process where a call hangs, even one that never comes back from native code."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _trim() -> None:
    """Gives freed memory back to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def main() -> None:
    # Ctrl-C and a service manager's SIGTERM go to the bot; we end after the request in hand, when it closes
    # the socket, since an end in the middle of writing would damage the index. A signal on the parent's death
    # (PR_SET_PDEATHSIG) would do just that, and would also come when only a thread of the parent ended.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fd, folder, lock, hang_seconds = sys.argv[1:5]
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the bot is gone
        serve(Connection(int(fd)), folder, lock, float(hang_seconds))
    sys.stderr.flush()
    os._exit(0)  # no destructors of native threads; the client is closed


if __name__ == "__main__":
    main()
