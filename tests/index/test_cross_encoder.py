"""The reranker with a real CrossEncoder, which is tiny and has random weights."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from keepsake.errors import RerankerError
from keepsake.index.cross_encoder import CHUNK_TEXTS, CrossEncoderReranker, open_reranker
from keepsake.manager import HybridMemoryManager
from keepsake.settings import load_settings
from tests.tiny_cross_encoder import make_cross_encoder

pytest.importorskip("sentence_transformers")

QUERY = "which tea do i drink"
TEXTS = [
    f"{word} tea is what i drink on day {n}"
    for n, word in enumerate(["green", "black", "white", "iced", "mint", "no"])
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_cross_encoder(tmp_path_factory.mktemp("reranker"))


def expected(folder: Path, query: str, texts: list[str]) -> list[float]:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    return [float(model.predict([(query, text)], show_progress_bar=False)[0]) for text in texts]


async def test_scores_are_the_models_whatever_the_length_and_the_number(folder: Path) -> None:
    reranker = CrossEncoderReranker(str(folder))
    texts = [*TEXTS, "", "tea " * 5_000, "чай 茶 \N{REPLACEMENT CHARACTER}"]
    assert len(texts) > 2 * CHUNK_TEXTS
    assert await reranker.scores(QUERY, texts) == pytest.approx(expected(folder, QUERY, texts), abs=1e-5)
    assert await reranker.scores(QUERY, []) == []
    await reranker.close()
    await reranker.close()


async def test_memory_is_searched_in_its_order(folder: Path) -> None:
    chosen = {"embedding_model": "none", "reranker_model": str(folder), "stm_size": 0, "ltm_size": 0}
    async with HybridMemoryManager(load_settings(**chosen)) as memory:
        for text in TEXTS:
            await memory.save_message(7, "user", text)
        found = await memory.search_memory(7, QUERY, limit=6)
        shown = await memory.find(7, QUERY, limit=6)
        block = await memory.get_context(7, QUERY, stm_size=0, ltm_size=0)
    scores = dict(zip(TEXTS, expected(folder, QUERY, TEXTS), strict=True))
    best_first = sorted(TEXTS, key=lambda text: -scores[text])
    assert [message.content for message, _ in found] == best_first
    assert [message.content for message, _ in shown] == best_first
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    at = [block.find(text) for text in best_first[:5]]
    assert -1 not in at
    assert at == sorted(at)
    async with HybridMemoryManager(load_settings(embedding_model="none")) as memory:
        without = await memory.search_memory(7, QUERY, limit=6)
    assert [message.content for message, _ in without] != best_first


@pytest.mark.parametrize(
    ("name", "says"),
    [("./nowhere", "no such folder"), ("empty", "cannot be loaded"), ("three", "3 scores a pair")],
)
async def test_what_cannot_be_loaded_is_one_line_and_recall_goes_on(
    name: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    Path("empty").mkdir()
    if name == "three":
        make_cross_encoder(Path("three"), labels=3)
    with caplog.at_level(logging.WARNING, "keepsake"):
        async with HybridMemoryManager(load_settings(embedding_model="none", reranker_model=name)) as memory:
            for text in TEXTS:
                await memory.save_message(7, "user", text)
            assert len(await memory.search_memory(7, QUERY)) == 5
            assert len(await memory.search_memory(7, QUERY)) == 5
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"RERANKER_MODEL {name}")
    assert says in lines[0]
    assert lines[0].endswith("recall goes on without it")
    assert "\n" not in lines[0]


async def test_a_model_that_fails_later_says_so_without_what_it_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reranker = CrossEncoderReranker(str(make_cross_encoder(tmp_path, forgotten="茶")))
    with caplog.at_level(logging.WARNING, "keepsake"):
        assert len(await reranker.scores(QUERY, ["green tea"])) == 1
        with pytest.raises(RerankerError, match="failed"):
            await reranker.scores(QUERY, ["green tea", "绿 茶"])
    assert len(caplog.records) == 1
    assert "tea" not in caplog.text
    await reranker.close()


def test_none_is_chosen_by_default() -> None:
    assert load_settings().reranker_model is None
    assert open_reranker(None) is open_reranker("") is None
