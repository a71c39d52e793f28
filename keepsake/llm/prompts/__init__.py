"""Prompts as versioned files `NAME.vN.md` of sections `## system`, `## user`, `## assistant`.

A `{{placeholder}}` is filled when the prompt is rendered.

What is stored with a fact or an answer is the file's stem. A changed text is a new version: a new file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

from keepsake.llm.client import Turn

PROMPT_DIR = Path(__file__).parent
ANSWER_PROMPT = "answer.v2"
EXTRACTION_PROMPT = "extraction.v1"
BRIEF_EXTRACTION_PROMPT = "extraction-brief.v1"  # where CONTEXT_TOKENS leave little room
CONSOLIDATION_PROMPT = "consolidation.v1"
SUMMARY_PROMPT = "summary.v1"

_SECTION = re.compile(r"^## (system|user|assistant)$\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with its placeholders open. `version` is the stem of its file."""

    version: str
    turns: tuple[Turn, ...]

    def render(self, **values: str) -> list[Turn]:
        """The turns with `values` in place. Raises KeyError for a placeholder without a value.

        One pass: what looks like a placeholder inside a value stays as it is.
        """

        def fill(text: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values[match[1]], text)

        return [Turn(turn.role, fill(turn.content)) for turn in self.turns]


@cache
def load_prompt(version: str) -> Prompt:
    """The prompt of the file `VERSION.md`. Raises FileNotFoundError; ValueError for one without sections."""
    text = (PROMPT_DIR / f"{version}.md").read_text("utf-8")
    before, *parts = _SECTION.split(text)
    if before.strip() or not parts:
        raise ValueError(f"the prompt {version} does not begin with a section")
    roles = cast("list[Literal['system', 'user', 'assistant']]", parts[::2])
    return Prompt(version, tuple(Turn(r, c.strip()) for r, c in zip(roles, parts[1::2], strict=True)))
