from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.telegram.render import LONGEST, Part, first_part, last_part, markdown_parts, plain_parts
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


@pytest.mark.parametrize(
    "markdown",
    [
        "1. " * 300,
        "- " * 3000,
        "> 1. * " * 20,
        ("1. " * 9 + "x\n") * 200,
        f"|{'wide ' * 60}|b|\n|-|-|\n" + "|1|2|\n" * 300,
        "**word** " * 12_000,
    ],
)
def test_markdown_that_would_become_far_more_text_is_shown_as_it_stands(markdown: str) -> None:
    parts = markdown_parts(markdown)
    assert "".join("".join(part.text for part in parts).split()) == "".join(markdown.split())
    assert len(parts) <= len(markdown) // LONGEST + 2


def test_lists_in_lists_stay_lists() -> None:
    (part,) = markdown_parts("- tea\n  - green\n    - *sencha*\n- 1. - 1. deep")
    assert "⦁ tea" in part.text and "*" not in part.text
    assert [entity.type for entity in part.entities] == ["italic"]


PROSE = "".join(f"The **{number}th** line.\n\n" for number in range(4000))


@pytest.mark.parametrize("length", [10, 5000, 8200, 50_000, len(PROSE)])
def test_a_preview_is_the_beginning_or_the_end_of_the_messages(length: int) -> None:
    markdown = PROSE[:length].rpartition("\n")[0] or PROSE[:length]
    whole, first, last = markdown_parts(markdown), first_part(markdown), last_part(markdown)
    assert first == whole[0]
    assert last is not None
    assert "".join(part.text for part in whole).endswith(last.text)
    assert last.entities


def test_the_end_of_code_is_code_and_what_follows_it_is_none() -> None:
    code = "```python\n" + "x = 1\n" * 3000
    assert [entity.type for entity in last_part(code).entities] == ["pre"]  # type: ignore[union-attr]
    after = last_part(f"{code}```\n" + "plain words\n" * 2000)
    assert after is not None and after.entities == ()


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_an_answer_of_nothing_has_no_preview(text: str) -> None:
    assert first_part(text) is last_part(text) is None


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_makes_no_message(text: str) -> None:
    assert markdown_parts(text) == plain_parts(text) == []


def test_plain_text_is_left_as_it_is() -> None:
    text = "a_b *c* [d](e)\n" + "😀" * 5000
    parts = plain_parts(text)
    assert "".join(part.text for part in parts).replace("\n", "") == text.replace("\n", "")
    assert all(utf16(part.text) <= LONGEST and not part.entities for part in parts)


def test_what_stands_out_in_plain_text_is_bold_also_behind_emoji_and_in_a_later_message() -> None:
    (part,) = plain_parts("😀 *tea* 茶 <b>", [(3, 6), (8, 9)])
    assert part.text == "😀 *tea* 茶 <b>"
    assert formats(part) == [("bold", "tea"), ("bold", "茶")]
    parts = plain_parts("😀\n" * 3000 + "tea", [(6000, 6003)])
    assert [formats(part) for part in parts] == [[]] * (len(parts) - 1) + [[("bold", "tea")]]


def taken(markdown: str) -> list[Part]:
    """The parts, each of them looked at as Telegram would."""
    parts = markdown_parts(markdown)
    for part in parts:
        entities = json.dumps([entity.to_dict() for entity in part.entities])
        parameters = {"text": part.text, "entities": entities}
        assert checked_text(parameters) == part.text
        checked_entities(part.text, parameters)
    return parts


def formats(part: Part) -> list[tuple[str, str]]:
    """What is shown how, in the order of the text."""
    units = part.text.encode("utf-16-le")
    ordered = sorted(part.entities, key=lambda entity: (entity.offset, entity.type))
    return [(e.type, units[2 * e.offset : 2 * (e.offset + e.length)].decode("utf-16-le")) for e in ordered]


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("see [the notes](NOTES), 😀", "see the notes (NOTES), 😀"),
        ("[a](/docs/page) and [b](#section)", "a (/docs/page) and b (#section)"),
        ("[here](http://localhost:8000/x)", "here (http://localhost:8000/x)"),
        ("[here](https://example.org:99999)", "here (https://example.org:99999)"),
        ("[log](file:///tmp/a.log)", "log (file:///tmp/a.log)"),
        ("[read](README.md)", "read (README.md)"),
        ("[write](mailto:a@example.org) or [call](tel:+123)", "write (a@example.org) or call (+123)"),
        ("<a@example.org>, [NOTES](NOTES)", "a@example.org, NOTES"),
        ("![a plan](plan.png)", "🖼a plan (plan.png)"),
        ("[`x`](https://example.org)", "x (https://example.org)"),
        ("see[^1]\n\n[^1]: NOTES", "see^1 (NOTES)"),
    ],
)
def test_an_address_that_telegram_does_not_link_is_told(markdown: str, shown: str) -> None:
    (part,) = taken(markdown)
    assert part.text == shown
    assert not any(entity.type == "text_link" for entity in part.entities)


@pytest.mark.parametrize(
    "url",
    ["https://example.org", "http://пример.рф:8080/?a=b", "tg://user?id=5", "HTTPS://example.org/a_(b)"],
)
def test_an_address_that_telegram_links_is_a_link(url: str) -> None:
    (part,) = taken(f"**see [it](<{url}>)**")
    assert (part.text, part.entities[-1].url) == ("see it", url)


def test_of_an_image_in_a_link_the_link_is_kept() -> None:
    (part,) = taken("[![badge](https://example.org/b.svg)](https://example.org)")
    assert formats(part) == [("text_link", "🖼badge (https://example.org/b.svg)")]


def test_what_stands_around_a_told_address_goes_on_behind_it() -> None:
    (part,) = taken("> 😀 [**a**](b) *c* `d`")
    assert part.text == "😀 a (b) c d"
    assert formats(part)[0] == ("blockquote", "😀 a (b) c d")
    assert formats(part)[2:] == [("italic", "c"), ("code", "d")]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a `b` c**", [("bold", "a "), ("code", "b"), ("bold", " c")]),
        ("### `a` 😀 `b`", [("code", "a"), ("bold", " 😀 "), ("code", "b")]),
        ("*`a`*", [("code", "a")]),
        (
            "[a `b` c](https://example.org)",
            [("text_link", "a "), ("code", "b"), ("text_link", " c")],
        ),
        ("> a `b`", [("blockquote", "a b"), ("code", "b")]),
        (">> a", [("blockquote", "a")]),
        ("> a\n>> b", [("blockquote", "a\nb")]),
    ],
)
def test_code_bears_no_other_format(markdown: str, expected: list[tuple[str, str]]) -> None:
    (part,) = taken(markdown)
    assert formats(part) == expected


@pytest.mark.parametrize("level", range(1, 7))
def test_headings_get_no_pictures(level: int) -> None:
    assert [part.text for part in taken("#" * level + " Title")] == ["Title"]


@pytest.mark.parametrize("parts", [markdown_parts, plain_parts])
def test_half_of_a_utf16_pair_is_replaced(parts: Callable[[str], list[Part]]) -> None:
    assert [part.text for part in parts("a\ud83d b\ude00 \ud83d\ude00 😀")] == ["a\ufffd b\ufffd 😀 😀"]


WORDS = st.lists(
    st.sampled_from(["ab", "слово", "😀", "`co de`", "x1", "![x1](i.png)"]), min_size=1, max_size=3
).map(" ".join)
INLINE = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(
            st.sampled_from(["**{}**", "*{}*", "~~{}~~", "||{}||", "[{}](https://a.bc)", "[{}](NOTES)"]),
            inner,
        ).map(lambda pair: pair[0].format(pair[1])),
        st.lists(inner, min_size=2, max_size=3).map(" ".join),
    ),
    max_leaves=6,
)
BLOCKS = st.recursive(
    st.tuples(
        st.sampled_from(["ab {}", "# {}", "### {}", "##### {}", "```py\n{}\n```", "$${}$$"]), INLINE
    ).map(lambda pair: pair[0].format(pair[1])),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["> ", "- ", "1. "]), inner).map(
            lambda pair: pair[0] + pair[1].replace("\n", "\n" + (">" if pair[0] == "> " else "").ljust(3))
        ),
        st.lists(inner, min_size=2, max_size=3).map("\n\n".join),
    ),
    max_leaves=5,
)


@given(BLOCKS)
def test_nothing_is_lost_of_the_words_however_formats_are_nested(markdown: str) -> None:
    shown = "\n".join(part.text for part in taken(markdown))
    word = re.compile("ab|слово|😀|co de|x1|NOTES|i\\.png")
    assert word.findall(shown) == word.findall(markdown)


MARKS = ["**b**", "_i_", "`c`", "😀", "\n", "```\nx\n```\n", "# h\n", "- l\n", "[a](http://b.c)", "<", "*"]


@given(st.lists(st.sampled_from(MARKS), max_size=60))
def test_whatever_a_model_writes_telegram_takes(pieces: list[str]) -> None:
    parts = taken(" ".join(pieces))
    assert all(part.text.strip() for part in parts)
