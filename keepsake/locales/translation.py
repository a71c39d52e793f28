"""Texts by key. One bundle a language, parsed on first use and kept."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fluent.runtime import FluentBundle, FluentResource

from keepsake.settings import LANGUAGES

FALLBACK = "en"
_HERE = Path(__file__).parent


def translate(language: str | None, key: str, **args: str | float) -> str:
    """The text of `key` in `language` (a language we do not have: English), with `args` filled in.

    Raises KeyError for an unknown key and ValueError for a missing argument: both are mistakes in the code.
    """
    bundle = _bundle(language if language in LANGUAGES else FALLBACK)
    pattern = bundle.get_message(key).value
    if pattern is None:
        raise KeyError(key)
    text, errors = bundle.format_pattern(pattern, args)
    if errors:
        raise ValueError(f"text {key!r}: {errors[0]!r}")
    return str(text)


def pick_language(code: str | None, default: str) -> str:
    """Our language for an IETF tag such as `ru-RU`, `default` where we do not have it."""
    base = (code or "").replace("_", "-").split("-")[0].lower()
    return base if base in LANGUAGES else default


@cache
def _bundle(language: str) -> FluentBundle:
    # Isolation marks (U+2068/9) are left out: they would stand in the block, in pipes and in copied text.
    bundle = FluentBundle([language], use_isolating=False)
    bundle.add_resource(FluentResource(source(language)))
    return bundle


def source(language: str) -> str:
    """The Fluent text of one language."""
    return (_HERE / f"{language}.ftl").read_text(encoding="utf-8")
