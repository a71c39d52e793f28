from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.telegram.render import LONGEST, markdown_parts, plain_parts
from tests.telegram_server.rules import checked_entities, checked_text, utf16


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        (
            "Use vector<int> and the <div> tag, if a<b and c>d",
            "Use vector<int> and the <div> tag, if a<b and c>d",
        ),
        ("Put <your name> here", "Put <your name> here"),
        ("<div>\n<p>слово</p>\n</div>", "<div>\n<p>слово</p>\n</div>"),
        ("`a<b>` stays, <b>bold</b> too", "a<b> stays, <b>bold</b> too"),
        ("see <https://example.org>", "see https://example.org"),
        ("<!-- a note -->", "<!-- a note -->"),
        ("a &lt; b", "a < b"),
    ],
)
def test_what_stands_in_angle_brackets_is_not_lost(markdown: str, shown: str) -> None:
    assert [part.text for part in markdown_parts(markdown)] == [shown]


def test_markdown_becomes_entities() -> None:
    (part,) = markdown_parts("**bold** `code` [link](https://example.org)")
    assert part.text == "bold code link"
    assert [entity.type for entity in part.entities] == ["bold", "code", "text_link"]


def test_a_fence_that_is_cut_is_a_fence_in_both_messages() -> None:
    parts = markdown_parts("```python\n" + "x = 1\n" * 1500 + "```")
    assert len(parts) > 1
    assert all([entity.type for entity in part.entities] == ["pre"] for part in parts)


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_makes_no_message(text: str) -> None:
    assert markdown_parts(text) == plain_parts(text) == []


def test_plain_text_is_left_as_it_is() -> None:
    text = "a_b *c* [d](e)\n" + "😀" * 5000
    parts = plain_parts(text)
    assert "".join(part.text for part in parts).replace("\n", "") == text.replace("\n", "")
    assert all(utf16(part.text) <= LONGEST and not part.entities for part in parts)


MARKS = ["**b**", "_i_", "`c`", "😀", "\n", "```\nx\n```\n", "# h\n", "- l\n", "[a](http://b.c)", "<", "*"]


@given(st.lists(st.sampled_from(MARKS), max_size=60))
def test_whatever_a_model_writes_telegram_takes(pieces: list[str]) -> None:
    for part in markdown_parts(" ".join(pieces)):
        entities = json.dumps([entity.to_dict() for entity in part.entities])
        parameters = {"text": part.text, "entities": entities}
        assert checked_text(parameters) == part.text
        checked_entities(part.text, parameters)
