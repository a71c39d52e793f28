"""Nothing becomes a fact that the user did not say."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.facts.candidate import Candidate
from keepsake.facts.ground import Ground, fold, junk, stands_in
from keepsake.index.terms import analyse
from keepsake.models import Message, Role

AT = datetime(2026, 3, 11, tzinfo=UTC)


def window(*said: tuple[Role, str]) -> list[Message]:
    return [Message(10 + n, 1, role, text, AT, 1) for n, (role, text) in enumerate(said)]


def sources(candidate: Candidate, *said: tuple[Role, str]) -> tuple[int, ...] | str:
    return Ground(window(*said), analyse).sources(candidate)


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("I live in Angarsk", "well, I LIVE  in\nAngarsk now"),
        ("“I live in Angarsk…”", "I live in Angarsk now"),
        ("I'm a nurse", "I\u2019m a nurse"),
        ("я живу в ангарске", "Я живу в Ангарске."),
        ("Tôi dị ứng tôm", "tôi dị ứng tôm bò"),
        ("我住在北京", "你好,我 住在北京。"),
        ("Ich wohne in der Straße", "ICH WOHNE IN DER STRASSE 5"),
        ("price is 100", "the price is １００ now"),
        ("I live in Angarsk", "I\u200b live in\u200f Angarsk"),
    ],
)
def test_a_quote_stands_but_for_case_and_spaces(quote: str, message: str) -> None:
    assert sources(Candidate("anything at all", quote=quote), ("user", message)) == (10,)


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("I live in Irkutsk", "I live in Angarsk"),
        ("like cats", "I dislike cats"),
        ("I live in Paris", "I live in Parisville"),
        ("costs 100", "it costs 1000"),
        ("люблю котов", "не нелюблю котов"),
        ("not allergic to shrimp", "I am allergic to shrimp"),
    ],
)
def test_a_quote_that_does_not_stand_is_refused_whatever_the_content(quote: str, message: str) -> None:
    assert sources(Candidate(message, quote=quote, object=message), ("user", message)) == "quote"


def test_the_assistant_cannot_be_quoted_nor_sworn_by() -> None:
    said: tuple[tuple[Role, str], ...] = (("assistant", "You live in Irkutsk"), ("user", "hm, tell me more"))
    assert sources(Candidate("Lives in Irkutsk", quote="live in Irkutsk"), *said) == "quote"
    assert sources(Candidate("Lives in Irkutsk", object="Irkutsk", message_ids=(10,)), *said) == "ungrounded"


@pytest.mark.parametrize(
    ("object_", "content", "message", "grounded"),
    [
        ("Angarsk", "Home is there", "I live in Angarsk now", True),
        ("Irkutsk", "I live in Angarsk", "I live in Angarsk now", False),
        (None, "User lives in Angarsk", "I live in Angarsk now", True),
        (None, "The user's cats: 2", "I have 2 cats", True),
        (None, "The user's cats: 3", "I have 2 cats", False),
        ("two cats", "Has two cats", "I have 2 cats", False),
        ("user", "Lives in Angarsk", "I live in Angarsk", True),
        ("кошки", "Любит кошек", "у меня кошка и собака", True),
        ("北京", "住在北京", "我住在北京", True),
        ("上海", "住在上海", "我住在北京", False),
        (None, "用户住在北京", "我住在北京", True),
        ("tôm", "Dị ứng tôm", "tôi dị ứng tôm bò", True),
        ("cua", "Dị ứng cua", "tôi dị ứng tôm bò", False),
        ("cua", "Dị ứng cua", "tôi dị ứng cua", True),
        ("it", "Owns a castle", "I like it", False),
        (None, "the of and", "the of and", False),
        ("shrimp", "Not allergic to shrimp", "I'm allergic to shrimp", False),
        ("shrimp", "Not allergic to shrimp", "I'm not allergic to shrimp", True),
    ],
)
def test_without_a_quote_every_word_and_number_must_occur(
    object_: str | None, content: str, message: str, grounded: bool
) -> None:
    found = sources(Candidate(content, object=object_), ("user", message))
    assert found == ((10,) if grounded else "ungrounded")


def test_the_words_must_occur_in_one_message() -> None:
    said: tuple[tuple[Role, str], ...] = (("user", "my sister is Ana"), ("user", "Bob is a nurse"))
    assert sources(Candidate("x", object="Ana nurse"), *said) == "ungrounded"


@pytest.mark.parametrize(
    ("sender", "subject", "grounded"),
    [
        (None, None, True),
        (None, "user", True),
        (None, "Ana", True),
        ("", "user", True),
        ("Ana", None, False),
        ("Ana", "user", False),
        ("Ana", "Bob", False),
        ("Ana", "Ana", True),
        (" Ana  Lee\n", "ANA LEE", True),
        ("Анна", " анна ", True),
        ("User", "user", False),
        ("the user", "The User", False),
        ("  ", None, False),
        ("…", "…", False),
        ("S" * 100_000, "S" * 64 + "…", True),
        ("S" * 100_000, "S" * 200, True),
    ],
)
@pytest.mark.parametrize("quote", ["I live in Angarsk", None])
def test_what_somebody_else_said_is_about_them_alone(
    sender: str | None, subject: str | None, grounded: bool, quote: str | None
) -> None:
    said = Message(10, 1, "user", "I live in Angarsk now", AT, 1, sender)
    candidate = Candidate("Lives in Angarsk", quote=quote, object="Angarsk", subject=subject)
    refused = "quote" if quote else "ungrounded"
    assert Ground([said], analyse).sources(candidate) == ((10,) if grounded else refused)


def test_the_user_s_own_words_ground_what_somebody_else_said_too() -> None:
    own, others = (
        Message(id_, 1, "user", "I live in Angarsk", AT, 1, who) for id_, who in ((10, None), (11, "Ana"))
    )
    candidate = Candidate("Lives in Angarsk", quote="I live in Angarsk", subject="user")
    assert Ground([own, others], analyse).sources(candidate) == (10,)


@pytest.mark.parametrize("quote", ["I", "I am", "да", "的", "…", "я"])
def test_a_quote_of_nothing_but_stop_words_grounds_nothing(quote: str) -> None:
    said = "I am here, да, я тут, 我的"
    assert sources(Candidate("Owns a castle in Scotland", quote=quote), ("user", said)) == "ungrounded"


@pytest.mark.parametrize(
    ("given_ids", "ids"),
    [
        ((), (12,)),
        ((999,), (12,)),
        ((11,), (12,)),
        ((10,), (12,)),
        ((12,), (12,)),
        ((12, 10, 12, 11), (10, 12)),
    ],
)
def test_message_ids_are_of_the_window_or_where_the_quote_stands(
    given_ids: tuple[int, ...], ids: tuple[int, ...]
) -> None:
    said: tuple[tuple[Role, str], ...] = (
        ("user", "I was in Irkutsk"),
        ("assistant", "You moved to Angarsk?"),
        ("user", "yes, I moved to Angarsk"),
    )
    found = sources(Candidate("Moved to Angarsk", quote="I moved to Angarsk", message_ids=given_ids), *said)
    assert found == ids


def test_of_a_long_message_beginning_and_end_are_read_and_no_half_of_a_word() -> None:
    message = "My cat is Tom. " + "100000 unimaginable things " * 6000 + "and I live in Angarsk"
    assert sources(Candidate("x", object="Angarsk"), ("user", message)) == (10,)
    assert sources(Candidate("x", object="Tom"), ("user", message)) == (10,)
    for start in range(27):
        said: tuple[tuple[Role, str], ...] = (("user", "x" * start + " " + message),)
        assert sources(Candidate("x", object="100"), *said) == "ungrounded"
        assert sources(Candidate("x", quote="things 1000"), *said) == "quote"
        assert sources(Candidate("x", object="imaginable"), *said) == "ungrounded"


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (Candidate("Has cat"), "short"),
        (Candidate("Has cats"), None),
        (Candidate("我爱猫"), "short"),
        (Candidate("我喜欢猫"), None),
        (Candidate("Hello there!"), "small_talk"),
        (Candidate("User is thankful", quote="Thanks!"), "small_talk"),
        (Candidate("Большое спасибо!"), "small_talk"),
        (Candidate("Cảm ơn nhiều."), "small_talk"),
        (Candidate("用户表示感谢"), "small_talk"),
        (Candidate("The user greeted the assistant"), "small_talk"),
        (Candidate("Пользователь согласился"), "small_talk"),
        (Candidate("The assistant can cook"), "assistant"),
        (Candidate("Can help with Python", subject="Assistant"), "assistant"),
        (Candidate("Assistant manager at a bank"), None),
        (Candidate("AI engineer at a bank"), None),
        (Candidate("Says hi to Ana every morning"), None),
        (Candidate("User is a nurse", quote="I'm a nurse"), None),
    ],
)
def test_junk_never_gets_in(candidate: Candidate, why: str | None) -> None:
    assert junk(candidate) == why


def test_a_vital_fact_may_be_short() -> None:
    assert junk(Candidate("Type 1"), vital=True) is None
    assert junk(Candidate("thanks"), vital=True) == "small_talk"


@given(st.text(max_size=80), st.text(max_size=20))
def test_folding_takes_any_text_and_knows_its_edges(text: str, other: str) -> None:
    folded = fold(text)
    assert all(0 <= edge <= len(folded.text) for edge in folded.edges)
    assert not re.search(r"\s", folded.text)
    stands_in(other, folded)


@given(
    st.lists(st.sampled_from(["cat", "dog", "北京", "Я", "100", "it's"]), min_size=1, max_size=6), st.data()
)
def test_whole_words_of_a_text_always_stand_in_it(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    assert stands_in("  ".join(words[first:last]).upper(), fold(" ".join(words)))
