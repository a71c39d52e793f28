"""The part of a message that is shown: the words that were looked for, marked, on one line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.recall.snippet import LOOKED_AT, MARKS_MAX, query_terms, snippet

ENGLISH = (
    "Yesterday we talked about the weather for hours, and then my sister brought two kinds of green tea"
    " from her journey, which we drank on the balcony until late"
)
RUSSIAN = (
    "Вчера мы долго говорили о погоде, а потом пришёл мой рыжий кот и лёг на подоконник, где он всегда спит,"
    " пока солнце не уйдёт"
)
VIETNAMESE = (
    "Hôm qua tôi đi chợ mua rất nhiều rau cho cả tuần, sau đó tôi nấu món tôm rang me cho cả nhà ăn tối,"
    " ai cũng khen ngon"
)
CHINESE = "昨天我去了市场买了很多东西然后回家做饭，晚上我们一起看了一部电影，最后我给猫喂了食物，它就睡觉了"


@pytest.mark.parametrize(
    ("content", "query", "marked"),
    [
        (ENGLISH, "sisters' teas?", ["sister", "tea"]),
        (RUSSIAN, "где мои коты и подоконники", ["кот", "подоконник"]),
        (RUSSIAN, "пришел", ["пришёл"]),
        (VIETNAMESE, "tom rang", ["tôm rang"]),
        (CHINESE, "给猫喂什么", ["给猫喂"]),
        ("the file is in src/data_loader.py now, version 3.11.4", "dataLoader 3.11.4", ["3.11.4"]),
        ("Angarsk и 安加尔斯克: one town", "Angarsk 安加尔斯克", ["Angarsk", "安加尔斯克"]),
    ],
)
def test_the_words_are_shown_and_marked(content: str, query: str, marked: list[str]) -> None:
    part = snippet(content, query_terms(query), 60)
    found = [part.text[at:end] for at, end in part.marks]
    assert [word for word in marked if word not in found] == []
    assert len(part.text) <= 62


def test_what_is_left_out_has_an_ellipsis_and_words_stay_whole() -> None:
    part = snippet(ENGLISH, query_terms("tea"), 60)
    assert part.text == "…two kinds of green tea from her journey, which we drank on…"
    assert part.text.strip("…") in ENGLISH
    assert snippet("one two three", (), 10).text == "one two…"
    assert snippet("字" * 20, (), 10).text == "字" * 10 + "…"
    assert snippet("a\n b\t c").text == "a b c"


def test_words_in_the_beginning_leave_the_beginning() -> None:
    assert snippet("green tea " * 40, query_terms("tea")).text.startswith("green tea green")
    assert snippet(ENGLISH, query_terms("hours")).text.startswith("Yesterday")


def test_where_nothing_matches_it_is_the_beginning() -> None:
    part = snippet(ENGLISH, query_terms("bicycles"), 30)
    assert part.text == "Yesterday we talked about the…"
    assert part.marks == ()


def test_the_place_with_most_different_words_wins() -> None:
    content = "tea " * 30 + "nothing to see here, " * 10 + "green tea it was" + " and so on" * 20
    part = snippet(content, query_terms("green tea"), 40)
    assert "green tea it was" in part.text


def test_one_character_of_a_chinese_word_counts_where_the_word_is_not_there() -> None:
    assert snippet("我有一只猫", query_terms("养猫")).marks == ((4, 5),)
    assert snippet("我养猫，猫很乖", query_terms("养猫")).marks == ((1, 3),)
    assert snippet("我养猫，猫很乖", query_terms("猫")).marks == ((2, 3), (4, 5))


def test_a_text_with_its_diacritics_apart_is_matched_too() -> None:
    part = snippet(unicodedata.normalize("NFD", VIETNAMESE), query_terms("nấu"), 40)
    assert [part.text[at:end] for at, end in part.marks] == ["nấu"]


def test_of_a_megabyte_the_beginning_is_looked_through() -> None:
    part = snippet("a " * 500_000, query_terms("a"))
    assert len(part.marks) <= MARKS_MAX
    assert part.text.endswith("…")
    for words, found in ((LOOKED_AT // 2 - 10, True), (LOOKED_AT // 2, False)):
        assert ("tea" in snippet("x " * words + "tea", query_terms("tea")).text) is found


@given(
    st.text(alphabet=st.sampled_from("ab é猫狗养 я.\n\u0301😀_"), max_size=120),
    st.text(alphabet=st.sampled_from("ab é猫狗养 я"), max_size=12),
    st.integers(5, 40),
)
def test_of_any_text_it_is_a_part_with_its_marks_inside(content: str, query: str, length: int) -> None:
    part = snippet(content, query_terms(query), length)
    line = " ".join(unicodedata.normalize("NFC", content).split())
    assert part.text.strip("…") in line
    assert len(part.text) <= length + 2
    assert "\n" not in part.text
    end_before = 0
    for at, end in part.marks:
        assert end_before <= at < end <= len(part.text)
        assert part.text[at:end] == part.text[at:end].strip(" …")
        end_before = end
    if not part.marks and len(line) > length:
        assert line.startswith(part.text.removesuffix("…"))
