"""Formatting is judged by Telegram's own parser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.telegram_server.rules import RefusedError, checked_content

Entity = dict[str, Any]


def entity(kind: str, offset: int, length: int, **more: Any) -> Entity:
    return {"type": kind, "offset": offset, "length": length, **more}


def content(text: str, *entities: Entity, **more: str) -> tuple[str, list[Entity]]:
    return checked_content({"text": text, "entities": json.dumps(entities), **more})


@pytest.mark.parametrize(
    ("mode", "text", "shown", "entities"),
    [
        ("MarkdownV2", "*a _b_* c\\.", "a b c.", [entity("bold", 0, 3), entity("italic", 2, 1)]),
        ("HTML", "😀 <b>a</b> &lt;", "😀 a <", [entity("bold", 3, 1)]),
        ("HTML", '<a href="http://b.c/d">x</a>', "x", [entity("text_link", 0, 1, url="http://b.c/d")]),
        (
            "html",
            '<pre><code class="language-py">x</code></pre>',
            "x",
            [entity("pre", 0, 1, language="py")],
        ),
        ("Markdown", "*a* `b`", "a b", [entity("bold", 0, 1), entity("code", 2, 1)]),
        ("HTML", "<b>a*b*_c_`d`</b>", "a*b*_c_`d`", [entity("bold", 0, 10)]),
    ],
)
def test_a_parse_mode_makes_entities(mode: str, text: str, shown: str, entities: list[Entity]) -> None:
    assert content(text, parse_mode=mode) == (shown, entities)


@pytest.mark.parametrize(
    ("mode", "text", "words"),
    [
        ("MarkdownV2", "a.b", "can't parse entities: character '.' is reserved"),
        ("MarkdownV2", "*a", "can't parse entities: can't find end of bold"),
        ("HTML", "<b>a <i>b</b></i>", "can't parse entities: unmatched end tag"),
        ("HTML", "<blink>a</blink>", "can't parse entities: unsupported start tag"),
        ("HTML", "<b></b>", "text is empty"),
    ],
)
def test_what_cannot_be_parsed_is_refused(mode: str, text: str, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        content(text, parse_mode=mode)
    assert words in refused.value.description.lower()


@pytest.mark.parametrize(
    "entities",
    [
        [entity("bold", 0, 4), entity("italic", 2, 4)],
        [entity("bold", 0, 4), entity("bold", 2, 4)],
        [entity("blockquote", 0, 8), entity("pre", 2, 3)],
        [entity("text_link", 0, 8, url="tg://user?id=5"), entity("bold", 2, 3)],
        [entity("custom_emoji", 0, 1, custom_emoji_id="5")],
        [entity("text_mention", 0, 3, user={"id": 5, "is_bot": False, "first_name": "E"})],
        [entity("mention", 0, 3), entity("code", 0, 3)],
    ],
)
def test_what_telegram_shows_as_it_was_sent_passes(entities: list[Entity]) -> None:
    assert content("some **words** [to](show)", *entities)[0] == "some **words** [to](show)"


@pytest.mark.parametrize(
    ("entities", "words"),
    [
        ([entity("code", 0, 8), entity("bold", 2, 3)], "offset 2 cannot be nested"),
        ([entity("bold", 0, 8), entity("pre", 2, 3)], "offset 2 cannot be nested"),
        ([entity("blockquote", 0, 8), entity("expandable_blockquote", 2, 3)], "cannot be nested"),
        (
            [entity("text_link", 0, 8, url="http://a.b"), entity("text_link", 2, 3, url="http://c.d")],
            "inside of",
        ),
        ([entity("text_link", 0, 4, url="notaurl")], "entity URL 'notaurl' is invalid"),
        ([entity("text_mention", 0, 4)], "needs a user"),
        ([entity("custom_emoji", 0, 4, custom_emoji_id="x")], "needs custom_emoji_id"),
    ],
)
def test_what_telegram_would_drop_or_refuse_is_refused(entities: list[Entity], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        content("some words to show", *entities)


def test_a_message_is_kept_as_telegram_shows_it() -> None:
    crossing = [entity("bold", 0, 4), entity("italic", 2, 4)]
    assert content("abcdefgh", *reversed(crossing)) == ("abcdefgh", crossing)
    assert content("abcd", entity("bold", 0, 2), entity("bold", 2, 1)) == ("abcd", [entity("bold", 0, 3)])
    assert content(" \n ab \n", entity("bold", 3, 4)) == ("ab", [entity("bold", 0, 2)])
    assert content("a\r\nb", entity("bold", 3, 1)) == ("a\nb", [entity("bold", 2, 1)])
