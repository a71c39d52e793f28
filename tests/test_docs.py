"""What the README says is what there is: settings, commands."""

from __future__ import annotations

import re
from pathlib import Path

import handlers
from keepsake.cli.app import app
from keepsake.settings import Settings, settings_table

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_the_generated_one() -> None:
    table = re.search(r"<!-- settings: .*? -->\n(.*?)\n<!-- /settings -->", README, re.DOTALL)
    assert table is not None
    assert table[1] == settings_table()


def test_the_example_shows_every_setting() -> None:
    shown = re.findall(r"^# ([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == [name.upper() for name in Settings.model_fields]


def test_every_command_stands_in_the_readme() -> None:
    names = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    assert len(names) >= 8
    missing = [name for name in names if f"| `{name}" not in README]
    missing += [name for name in handlers.COMMANDS if f"`/{name}" not in README]
    assert missing == []


def test_every_target_that_the_docs_name_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    docs = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z-]+)", docs, re.MULTILINE))
    assert named >= {"run", "test", "check"}
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in named)
