"""Names in `.env` and the environment that are almost settings: probably mistyped ones."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from keepsake.settings import ENV_FILE, Settings

_ENV_NAME = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=", re.MULTILINE)
_ALIKE = 0.8  # names that share so much are the same one, mistyped
_ALMOST_THE_SAME = 0.86  # in the environment, where other programs have their names


def mistyped_names() -> list[str]:
    """A line for each name in `.env` or the environment that is no setting but almost one. Never a value."""
    try:
        content = Path(ENV_FILE).read_text(encoding="utf-8-sig")
    except (OSError, ValueError):  # not there, or not to be read: `load_settings` says so
        content = ""
    in_file = _almost(dict.fromkeys(_ENV_NAME.findall(content)), _ALIKE)
    given = {name.upper() for name in os.environ}
    around = [pair for pair in _almost(os.environ, _ALMOST_THE_SAME) if pair[1] not in given]
    return [
        *(f"{ENV_FILE}: {name} is no setting; {meant} is probably meant" for name, meant in in_file),
        *(f"{name} is no setting; {meant} is probably meant" for name, meant in around),
    ]


def _almost(names: Iterable[str], alike: float) -> list[tuple[str, str]]:
    """Those of the names that are almost settings, with the setting."""
    settings = [name.upper() for name in Settings.model_fields]
    found = []
    for name in names:
        meant = get_close_matches(name.upper(), settings, n=1, cutoff=alike)
        if meant and meant[0] != name.upper():
            found.append((name, meant[0]))
    return found
