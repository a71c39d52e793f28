from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from fluent.syntax import ast as ftl
from fluent.syntax import parse
from fluent.syntax.visitor import Visitor

from keepsake.locales import pick_language, translate
from keepsake.locales.translation import source
from keepsake.settings import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
SPOKEN = [*(ROOT / "handlers").glob("*.py"), *(ROOT / "keepsake/telegram").glob("*.py")]
SPOKEN += (ROOT / "keepsake/terminal").glob("*.py")


class Arguments(Visitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_VariableReference(self, node: ftl.VariableReference) -> None:  # noqa: N802
        self.names.add(node.id.name)


def texts(language: str) -> dict[str, set[str]]:
    """Key → names of its arguments."""
    found: dict[str, set[str]] = {}
    for entry in parse(source(language)).body:
        assert not isinstance(entry, ftl.Junk), entry.content
        if isinstance(entry, ftl.Message):
            assert entry.id.name not in found, f"{entry.id.name} stands twice"
            arguments = Arguments()
            arguments.visit(entry)
            found[entry.id.name] = arguments.names
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys_and_arguments(language: str) -> None:
    assert texts(language) == texts("en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_can_be_made(language: str) -> None:
    for key, names in texts(language).items():
        numbers = {name: 5 if name == "count" else "x" for name in names}
        text = translate(language, key, **numbers)
        assert text.strip()
        assert "\u2068" not in text


def test_the_headings_of_the_block_are_those_of_the_contract() -> None:
    keys = ("profile", "topics", "summary", "stm", "ltm", "rag", "footer")
    assert [translate("en", f"block-{key}") for key in keys] == [
        "📋 USER PROFILE:",
        "🗂️ TOPICS:",
        "📝 SUMMARY:",
        "💬 STM (RECENT MESSAGES):",
        "🕰️ LTM (OLDER MESSAGES, CONDENSED):",
        "🔍 RAG (RELEVANT MESSAGES):",
        "🧠 MEMORY: STM sharp → LTM blurred → RAG deep",
    ]
    assert [translate("en", "role-user"), translate("en", "role-assistant")] == ["User", "Assistant"]
    grade = translate("en", "fact-confidence", confidence="0.92", date="2026-03-11")
    assert grade == "(confidence 0.92, updated 2026-03-11)"


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 сообщение"), (3, "3 сообщения"), (5, "5 сообщений"), (11, "11 сообщений"), (21, "21 сообщение")],
)
def test_russian_plurals(count: int, text: str) -> None:
    assert translate("ru", "stats-messages", count=count) == text


def test_an_unknown_language_gets_english_and_mistakes_are_errors() -> None:
    assert translate("xx", "you") == translate(None, "you") == "you"
    with pytest.raises(KeyError):
        translate("en", "no-such-text")
    with pytest.raises(ValueError, match="help-line"):
        translate("en", "help-line", name="x")


@pytest.mark.parametrize(
    ("code", "language"),
    [("ru-RU", "ru"), ("RU", "ru"), ("en_GB", "en"), ("de", "ru"), (None, "ru"), ("", "ru")],
)
def test_the_language_of_a_tag(code: str | None, language: str) -> None:
    assert pick_language(code, "ru") == language


def test_every_key_that_code_names_exists() -> None:
    named = {
        key
        for path in SPOKEN
        for key in re.findall(r'translate\([^()]*?, "([a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert named <= set(texts("en"))


def sentences(path: Path) -> list[str]:
    """String literals of three words and more that are neither docstrings nor for operators."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            told |= {id(first.value) for first in node.body[:1] if isinstance(first, ast.Expr)}  # a docstring
        if isinstance(node, ast.Raise | ast.Call) and not _speaks(node):
            told |= {id(child) for child in ast.walk(node) if _raised_or_logged(node)}
    three_words = re.compile(r"[^\W\d_]+ [^\W\d_]+ [^\W\d_]")
    literals = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    strings = [node.value for node in literals if isinstance(node.value, str)]
    return [text for text in strings if three_words.search(text)]


def _speaks(node: ast.Raise | ast.Call) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr in ("send", "note", "stream"))
    )


def _raised_or_logged(node: ast.Raise | ast.Call) -> bool:
    """Errors and log lines are for operators."""
    if isinstance(node, ast.Raise):
        return True
    function = node.func
    owner = function.value if isinstance(function, ast.Attribute) else None
    background = isinstance(function, ast.Attribute) and function.attr == "start"  # the name of a task
    return background or (isinstance(owner, ast.Name) and owner.id == "log")


def test_no_sentence_that_people_read_stands_in_the_code(tmp_path: Path) -> None:
    assert {path.name: found for path in SPOKEN if (found := sentences(path))} == {}
    spoken = tmp_path / "spoken.py"
    spoken.write_text('async def f(chat):\n    await chat.send("Hello my dear friend")\n')
    assert sentences(spoken) == ["Hello my dear friend"]
