from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(data_dir: Path) -> Path:
    """An empty data folder."""
    data_dir.mkdir()
    return data_dir
