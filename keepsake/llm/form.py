"""Reads a JSON object out of what a model wrote, and words the request for one. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from keepsake.text import storable

FormMode = Literal["json_schema", "json_object", "plain"]
FORM_MODES: tuple[FormMode, ...] = ("json_schema", "json_object", "plain")

JsonSchema = Mapping[str, Any]

# Local servers leave the reasoning of a thinking model in the text.
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
# A model that writes braces without end must not cost quadratic time.
_OPENINGS_TRIED = 200


def json_object(text: str) -> dict[str, Any]:
    """The outermost JSON object of `text`, which may stand in a fence or between prose.

    Its texts can be stored: JSON may bring halves of surrogate pairs, and NUL. Raises ValueError where there is none;
    its text holds nothing of `text`.
    """
    text = _THINKING.sub("", text)
    decoder = json.JSONDecoder()
    openings = (match.start() for match in re.finditer(r"\{", text))
    for start, _ in zip(openings, range(_OPENINGS_TRIED), strict=False):
        try:
            value = _storable(decoder.raw_decode(text, start)[0])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    raise ValueError("no JSON object in the answer")


def _storable(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case list():
            return [_storable(item) for item in value]
        case dict():
            return {storable(key): _storable(item) for key, item in value.items()}
    return value


def response_format(mode: FormMode, name: str, schema: JsonSchema) -> dict[str, Any] | None:
    """The request's `response_format`, None for plain text."""
    if mode == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": dict(schema)}}
    return {"type": "json_object"} if mode == "json_object" else None


def form_note(mode: FormMode, schema: JsonSchema, *, again: bool) -> str:
    """What stands under the last turn: the schema where the server is not given it, a reminder."""
    notes: Sequence[str] = (
        "Your last answer was not of the form asked for. Answer with the JSON object alone." if again else "",
        f"Answer with one JSON object of this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
        if mode != "json_schema"
        else "",
    )
    return "\n\n".join(note for note in notes if note)
