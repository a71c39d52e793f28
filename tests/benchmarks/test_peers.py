"""The table of peers: what is computed of the measures, and keepsake's own row from a small work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import locomo
from benchmarks.peers.__main__ import ROOT, Candidate, measure, work_of
from benchmarks.peers.leftovers import left, secrets
from benchmarks.peers.report import Figures, mean_recall, milliseconds, remains, table
from benchmarks.peers.work import HashedEmbedder, Work

_FIGURES = Figures(
    name="one",
    recall=(0.5, 0.756),
    add=0.0012,
    indexed=0.024,
    add_unit=0.012,
    search=0.015,
    unit=0.010,
    store={1_000: 0.00007, 10_000: 0.0016},
    restart=1.26,
    left=(0, 3),
)


def test_a_row_of_the_table() -> None:
    head, rule, row = table([_FIGURES], (1_000, 10_000, 50_000)).splitlines()
    assert "store only at 1k / 10k / 50k, ms" in head
    assert head.count("|") == rule.count("|") == row.count("|")
    assert row == (
        "| one | 50 / 76 | 1.2 ms (0.10) | 24 ms (2.00) | 15 ms (1.50) | 0.07 / 1.6 / – | 1.3 s | vectors |"
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.00007, "0.07"), (0.00159, "1.6"), (0.0184, "18"), (0.1861, "186")]
)
def test_milliseconds_have_the_digits_that_mean_something(seconds: float, text: str) -> None:
    assert milliseconds(seconds) == text


def test_what_is_left_is_named() -> None:
    assert [remains(one) for one in ((0, 0), (2, 0), (0, 1), (2, 1))] == [
        "nothing",
        "text",
        "vectors",
        "text, vectors",
    ]


def test_recall_is_averaged_over_the_questions() -> None:
    found = [[1, 2, 3, 4, 5, 6], [9, 8]]
    assert mean_recall(found, [(1, 6), (7,)]) == (0.25, 0.5)


def test_leftovers_are_found_in_any_file_and_only_there(tmp_path: Path) -> None:
    said = secrets(3, first_id=100)
    vectors = [np.random.default_rng(one.id).standard_normal(384).astype("<f4").tobytes() for one in said]
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "one").write_bytes(b"\0" * 77 + said[2].text.encode() + b"\0")
    (deep / "two").write_bytes(b"\1" * 13 + vectors[0][128:512] + said[2].text.encode())
    (deep / "three").write_bytes(b"\1" * 13 + vectors[5][:1000] + b"\1" * 13)
    assert left(tmp_path, said, vectors) == (1, 2)
    (deep / "one").write_bytes(said[2].text.rsplit(" ", 1)[0].encode())
    (deep / "two").unlink()
    (deep / "three").unlink()
    assert left(tmp_path, said, vectors) == (0, 0)


def test_hashed_vectors_are_the_same_everywhere_and_of_length_one() -> None:
    one, other = HashedEmbedder(["ferry"]), HashedEmbedder()
    assert np.array_equal(one("ferry"), other("ferry"))
    assert np.linalg.norm(one("ferry")) == pytest.approx(1.0, abs=1e-5)
    assert abs(float(one("ferry") @ one("harbour"))) < 0.3


def test_a_benchmark_cannot_reach_a_network() -> None:
    code = (
        "import socket; from benchmarks.peers.runner import refuse_network; refuse_network()\n"
        "with socket.socket() as one:\n    one.settimeout(1)\n    one.connect(('192.0.2.1', 9))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert "ConnectionError: a benchmark goes without a network" in done.stderr


def _locomo(path: Path) -> Path:
    def turn(key: str, speaker: str, text: str, **more: str) -> dict[str, str]:
        return {"dia_id": key, "speaker": speaker, "text": text, **more}

    talk = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            turn("D1:1", "Ann", "I bought a violin at the flea market"),
            turn("D1:2", "Bob", "Look at this!", blip_caption="a photo of a lighthouse"),
        ],
        "session_2_date_time": "9:05 am on 12 June, 2023",
        "session_2": [turn("D2:1", "Ann", "My sister moved to Lisbon in spring")],
    }
    asked = [
        {"question": "What did Ann buy at the flea market?", "category": 4, "evidence": ["D1:1"]},
        {"question": "Where did Ann's sister move to?", "category": 1, "evidence": ["D2:1", "D9:9"]},
        {"question": "Which trick question is this?", "category": 5, "evidence": ["D1:1"]},
        {"question": "What has no evidence?", "category": 2, "evidence": ["D9:9"]},
    ]
    path.write_text(json.dumps([{"conversation": talk, "qa": asked}]), encoding="utf-8")
    return path


def test_a_conversation_is_read_as_the_protocol_says(tmp_path: Path) -> None:
    (talk,) = locomo.conversations(_locomo(tmp_path / "locomo.json"))
    assert talk.turns[1].text == "Look at this! [shares a photo of a lighthouse]"
    assert [f"{turn.said_at:%Y-%m-%d %H:%M:%S%z}" for turn in talk.turns] == [
        "2023-05-08 13:56:00+0000",
        "2023-05-08 13:56:30+0000",
        "2023-06-12 09:05:00+0000",
    ]
    assert [(query.category, query.evidence) for query in talk.questions] == [
        ("single-hop", ("D1:1",)),
        ("multi-hop", ("D2:1",)),
    ]


def test_keepsakes_row_runs_on_a_small_work(tmp_path: Path) -> None:
    work = work_of(locomo.conversations(_locomo(tmp_path / "locomo.json")), sizes=[30])
    assert [question.needs for question in work.questions] == [(1,), (3,)]
    work.save(tmp_path / "work.json")
    assert Work.load(tmp_path / "work.json") == work

    figures = measure(Candidate("keepsake", "keepsake", sys.executable), work, tmp_path / "run")
    assert figures.recall == (1.0, 1.0)
    assert figures.left == (0, 0)
    assert list(figures.store) == [30]
    assert min(figures.add, figures.indexed, figures.search, figures.restart, figures.store[30]) > 0


def test_the_readme_shows_the_table_that_the_command_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- peers: .*? -->\n(.*?)\n<!-- /peers -->", readme, re.DOTALL)
    assert shown is not None
    date, empty, head, *rows = shown[1].splitlines()
    assert re.match(r"20\d\d-\d\d-\d\d, \d+ cores", date) and not empty
    assert head == table([_FIGURES], (1_000, 10_000, 50_000)).splitlines()[0]
    assert len(rows) >= 5
