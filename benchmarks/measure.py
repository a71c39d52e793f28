"""What the benchmarks share: the unit, quantiles, the table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.texts import SENTENCE
from keepsake.index.embedder import E5_NAME, E5Engine
from keepsake.settings import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `target`: what is asked for, empty where it is only told."""

    what: str
    measured: str
    target: str


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = [f"| {row.what} | {row.measured} | {row.target} |" for row in rows]
    return "\n".join(["| what | measured | asked |", "| --- | --- | --- |", *lines])


def quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share))


async def embedding_seconds(times: int = 60) -> float:
    """Median seconds of one embedding of SENTENCE, straight from the model: no cache, no queue."""
    engine = E5Engine()
    engine.load()
    engine.encode([SENTENCE])
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        engine.encode([SENTENCE])
        taken.append(time.perf_counter() - begun)
    return quantile(taken, 0.5)


def settings_for(folder: Path, embedding_model: str = E5_NAME) -> Settings:
    """Default settings over a folder of its own, whatever the environment says."""
    return load_settings(
        data_dir=folder,
        local_model="none",
        openai_base_url=None,
        openai_model=None,
        embedding_model=embedding_model,
    )
