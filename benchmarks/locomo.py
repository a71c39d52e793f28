"""LoCoMo's conversations as they are measured here. Needs nothing of keepsake.

Each conversation is one user. Every turn is a user's message with its speaker's name, an image's caption appended,
dated by its session and 30 s a turn; questions of categories 1–4 that have evidence are asked as they stand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_TURN_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `key`: LoCoMo's own name for it."""

    key: str
    speaker: str
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Query:
    """A question. `evidence`: keys of the turns that hold its answer, at least one."""

    text: str
    category: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: tuple[Turn, ...]
    questions: tuple[Query, ...]


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a file as github.com/snap-research/locomo publishes it."""
    return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(sample: dict[str, Any]) -> Conversation:
    talk, number = sample["conversation"], 1
    turns: list[Turn] = []
    while f"session_{number}" in talk:
        said_at = talk[f"session_{number}_date_time"]
        begun = datetime.strptime(said_at, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        turns += _session(talk[f"session_{number}"], begun)
        number += 1
    known = {turn.key for turn in turns}
    return Conversation(tuple(turns), tuple(_queries(sample["qa"], known)))


def _session(said: list[dict[str, Any]], begun: datetime) -> list[Turn]:
    turns = []
    for place, turn in enumerate(said):
        caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        text = f"{turn['text']}{caption}".strip() or "-"
        moment = begun + timedelta(seconds=_TURN_SECONDS * place)
        turns.append(Turn(turn["dia_id"], turn["speaker"], text, moment))
    return turns


def _queries(asked: list[dict[str, Any]], known: set[str]) -> list[Query]:
    queries = []
    for one in asked:
        evidence = tuple(key for key in one.get("evidence", ()) if key in known)
        if one.get("category") in _CATEGORIES and evidence:
            queries.append(Query(one["question"], _CATEGORIES[one["category"]], evidence))
    return queries
