"""Chats whose questions have known answers, read into a memory: LoCoMo and chats in four languages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import locomo
from keepsake.manager import HybridMemoryManager


@dataclass(frozen=True, slots=True)
class Asked:
    """A question.

    `needs`: groups of message ids, one of each group has to be found, none where there is no answer; `outdated`: ids of
    what held before; `labels`: what it is counted under, its set first; `now`: when it is asked, None: today.
    """

    user_id: int
    text: str
    needs: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    history: tuple[str, ...] = ()
    outdated: tuple[int, ...] = ()
    now: datetime | None = None


async def load(memory: HybridMemoryManager, data: Path) -> list[Asked]:
    """Keeps all chats of a folder (see `benchmarks.recall`) and returns their questions, once vectors are made."""
    asked: list[Asked] = []
    for number, path in enumerate(sorted(data.glob("locomo*.json"))):
        asked += await load_locomo(memory, path, 1 + 1000 * number)
    if (data / "multilingual").is_dir():
        asked += await load_chats(memory, data / "multilingual")
    await memory.flush()
    return asked


async def load_locomo(memory: HybridMemoryManager, path: Path, first_user: int) -> list[Asked]:
    """Keeps the conversations of a LoCoMo file and returns its questions."""
    asked = []
    for user_id, talk in enumerate(locomo.conversations(path), first_user):
        ids: dict[str, int] = {}
        for turn in talk.turns:
            said = await memory.save_message(
                user_id, "user", turn.text, sender=turn.speaker, created_at=turn.said_at
            )
            ids[turn.key] = said.id
        for question in talk.questions:
            needs = tuple((ids[key],) for key in question.evidence)
            labels = ("LoCoMo", f"LoCoMo, {question.category}", f"LoCoMo, user {user_id}")
            asked.append(Asked(user_id, question.text, needs, labels))
    return asked


async def load_chats(memory: HybridMemoryManager, folder: Path) -> list[Asked]:
    """Keeps the chats of `multilingual/` and returns its questions."""
    ids: dict[int, int] = {}
    for line in _lines(folder.glob("chat*.jsonl")):
        moment = datetime.fromisoformat(line["created_at"])
        said = await memory.save_message(line["user_id"], line["role"], line["content"], created_at=moment)
        ids[line["mid"]] = said.id
    return [
        Asked(
            line["user_id"],
            line["query"],
            tuple(tuple(ids[one] for one in group) for group in line["need"]),
            ("chats", f"chats, {line['lang']}", f"chats, {line['kind']}"),
            tuple(turn["content"] for turn in line.get("history") or ()),
            tuple(ids[one] for one in line.get("outdated") or ()),
            datetime.fromisoformat(line["asked_at"]),
        )
        for line in _lines(folder.glob("questions*.jsonl"))
    ]


def _lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(paths)]
    return [json.loads(line) for text in texts for line in text.splitlines() if line.strip()]
