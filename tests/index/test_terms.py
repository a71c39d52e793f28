"""Keyword terms in four languages: what must meet does meet, and what is exact stays exact."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.index.terms import MAX_TERM, MAX_TERMS, analyse, places

ALLOWED = set("_.-:@")


@pytest.mark.parametrize(
    ("question", "memory", "shared"),
    [
        ("tôi ăn tôm được không", "Dị ứng thực phẩm — dị ứng tôm bò", "tom"),
        ("toi an tom duoc khong", "Dị ứng thực phẩm — dị ứng tôm bò", "tom"),
        ("di ung gi vay", "Tôi bị dị ứng với hải sản", "ung"),
        ("где я работаю администратором?", "Работал системным администратором", "администратор"),
        ("ёлки", "большая елка во дворе", "елк"),
        ("which allergies do I have", "An allergy to shrimp", "allergi"),
        ("我对虾过敏吗", "对虾和牛肉过敏", "过敏"),
        ("虾", "我不能吃虾", "虾"),
        ("café", "the CAFE on the corner", "cafe"),
        ("Đà Nẵng", "da nang", "nang"),
    ],
)
def test_a_question_meets_its_memory(question: str, memory: str, shared: str) -> None:
    assert shared in set(analyse(question)) & set(analyse(memory))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("get_user_name", {"get_user_name", "user", "name"}),
        ("FooBarBaz", {"foobarbaz", "foo", "bar", "baz"}),
        ("XMLHttpRequest", {"xmlhttprequest", "xml", "http", "request"}),
        ("keepsake.index.terms", {"keepsake.index.terms", "index", "term"}),
        ("Python 3.11", {"python", "3.11", "3", "11"}),
        ("mail bob.lee@example.com", {"bob.lee@example.com", "bob", "lee"}),
        ("3,400 rubles", {"3400", "rubl"}),
        ("192.168.1.87", {"192.168.1.87"}),
        ("Москва-река", {"москва-река", "москв", "рек"}),
        ("Ｆｕｌｌ width", {"full", "width"}),
    ],
)
def test_identifiers_are_found_whole_and_by_their_parts(text: str, terms: set[str]) -> None:
    assert terms <= set(analyse(text))


@pytest.mark.parametrize(
    "text", ["where is the shrimp", "а что с креветками", "tôi và tôm của bạn", "我的虾在哪里"]
)
def test_stop_words_are_left_out_beside_others(text: str) -> None:
    assert not {"the", "is", "а", "что", "с", "toi", "va", "cua", "的", "我"} & set(analyse(text))


@pytest.mark.parametrize("text", ["what is it", "что это", "tôi là ai", "我的"])
def test_a_question_of_stop_words_alone_keeps_them(text: str) -> None:
    assert analyse(text)


@pytest.mark.parametrize("word", ["work", "computer", "fire", "home", "москва", "отец", "ăn", "工作"])
def test_words_that_memories_are_about_are_no_stop_words(word: str) -> None:
    assert analyse(f"{word} shrimp")[:-1]


def test_vietnamese_words_that_differ_by_tone_from_a_stop_word_stay() -> None:
    assert "toi" in analyse("tối nay ăn tôm")


@given(st.text(max_size=300))
def test_every_term_can_stand_in_the_keyword_index(text: str) -> None:
    for term in analyse(text):
        assert term
        assert len(term) <= MAX_TERM
        assert not re.search(r"\s", term)
        assert all(c in ALLOWED for c in term if c.isascii() and not c.isalnum())
        assert not any(unicodedata.category(c) == "Cs" for c in term)
        assert term == term.casefold() or not term.isascii()


def test_a_very_long_text_has_bounded_terms() -> None:
    assert len(analyse("слово word " * 150_000)) == MAX_TERMS
    assert len(analyse("x" * 100_000)[0]) == MAX_TERM
    assert len(analyse("虾" * 150_000)) == MAX_TERMS


def test_only_punctuation_has_no_terms() -> None:
    assert analyse("… !? \0 \u200f") == []


def test_terms_have_their_places() -> None:
    text = "Мои коты in data_loader.py, 我养猫"
    found = [(text[at:end], terms) for at, end, terms in places(text)]
    assert ("коты", ("кот",)) in found
    assert next(terms for word, terms in found if word == "data_loader.py")[0] == "data_loader.py"
    assert [word for word, _ in found[-5:]] == ["我", "我养", "养", "养猫", "猫"]


@given(st.text(alphabet=st.sampled_from("aé я養猫。.,_-'3 \n"), max_size=40))
def test_the_terms_of_all_places_are_those_of_the_text(text: str) -> None:
    text = unicodedata.normalize("NFKC", text)
    assert set(analyse(text)) <= {term for _, _, terms in places(text) for term in terms}
