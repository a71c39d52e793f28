"""SIGKILL at every step of an erasure, then a start: it is as if nothing had happened."""

from __future__ import annotations

import pytest

from tests.kill_steps import reported


@pytest.mark.parametrize(
    ("steps", "least"),
    [("first", 15), pytest.param("every", 100, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])],
)
def test_an_erasure_that_is_killed_at_any_step_is_finished_at_the_next_start(steps: str, least: int) -> None:
    killed = reported("tests.forgetting.kill_driver", steps)
    assert len(killed) >= least
    assert {line["at"]: line["faults"] for line in killed if line["faults"]} == {}
    assert {"delete_rows", "truncate_log", "_prove", "strip_job"} <= {line["at"] for line in killed}
