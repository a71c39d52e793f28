"""SIGKILL at every step of an erasure, then a start: it is as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from keepsake.settings import PROJECT_DIR


@pytest.mark.parametrize(
    ("steps", "least"),
    [("first", 15), pytest.param("every", 100, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])],
)
def test_an_erasure_that_is_killed_at_any_step_is_finished_at_the_next_start(steps: str, least: int) -> None:
    driver = subprocess.run(
        [sys.executable, "-m", "tests.forgetting.kill_driver", steps],
        cwd=PROJECT_DIR,
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )
    assert driver.returncode == 0, driver.stderr
    killed = [json.loads(line) for line in driver.stdout.splitlines()]
    assert len(killed) >= least
    assert {line["at"]: line["faults"] for line in killed if line["faults"]} == {}
    assert {"delete_rows", "truncate_log", "_prove", "strip_job"} <= {line["at"] for line in killed}
