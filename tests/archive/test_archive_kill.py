"""SIGKILL at every step of what the archive does, then a start: nothing is lost, nothing is there twice."""

from __future__ import annotations

import pytest

from tests.kill_steps import reported

_LONG = [pytest.mark.soak, pytest.mark.timeout(3000)]


@pytest.mark.parametrize(
    ("work", "steps", "least"),
    [
        ("leave", "first", 10),
        ("remove", "first", 10),
        pytest.param("leave", "every", 60, marks=_LONG),
        pytest.param("remove", "every", 60, marks=_LONG),
    ],
)
def test_a_kill_at_any_step_loses_and_doubles_nothing(work: str, steps: str, least: int) -> None:
    killed = reported("tests.archive.kill_driver", work, steps)
    assert {line["at"]: line["faults"] for line in killed if line["faults"]} == {}
    assert len(killed) >= least
    record = "move_out" if work == "leave" else "replace_file"
    assert {"begin_file", "pack", "Place.write", "Place.read", record} <= {line["at"] for line in killed}
