"""Predicates, subjects and missing triples in one form, whatever the language."""

from __future__ import annotations

import pytest

from keepsake.facts.claims import derive
from keepsake.facts.normalise import normalise
from keepsake.facts.vocabulary import canonical, predicates
from keepsake.models import FactDraft
from tests.facts.known import draft


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lives_in", ("lives_in", False)),
        ("Resides in", ("lives_in", False)),
        ("livesIn", ("lives_in", False)),
        ("город", ("lives_in", False)),
        ("живёт в", ("lives_in", False)),
        ("sống ở", ("lives_in", False)),
        ("住在", ("lives_in", False)),
        ("no longer lives in", ("lives_in", True)),
        ("not_allergic_to", ("allergic_to", True)),
        ("больше не живёт в", ("lives_in", True)),
        ("doesn't eat", ("cannot_eat", False)),
        ("commutes by", ("commutes_by", False)),
        ("not_commutes_by", ("commutes_by", True)),
    ],
)
def test_predicates_have_one_name_in_four_languages(name: str, expected: tuple[str, bool]) -> None:
    assert canonical(name) == expected


def test_a_name_belongs_to_one_predicate_and_every_predicate_finds_itself() -> None:
    assert len(predicates()) >= 40
    for name, predicate in predicates().items():
        assert canonical(name) == (name, False)
        assert predicate.opposite is None or predicates()[predicate.opposite].opposite == name


@pytest.mark.parametrize(
    ("content", "triple"),
    [
        ("Lives in Angarsk", ("lives_in", "Angarsk")),
        ("The user's home is Angarsk", ("lives_in", "Angarsk")),
        ("I'm allergic to shrimp", ("allergic_to", "shrimp")),
        ("Я живу в Ангарске", ("lives_in", "Ангарске")),
        ("Аллергия на креветки", ("allergic_to", "креветки")),
        ("Tôi sống ở Hà Nội", ("lives_in", "Hà Nội")),
        ("Dị ứng tôm", ("allergic_to", "tôm")),
        ("用户住在北京", ("lives_in", "北京")),
        ("对虾过敏", ("allergic_to", "虾")),
        ("No longer lives in Moscow", ("not_lives_in", "Moscow")),
        ("对虾不过敏", ("not_allergic_to", "虾")),
        ("Bigger plans than last year", (None, None)),
        ("Lives in Angarsk, works at a bank", (None, None)),
        ("Lives in Angarsk and works at a bank", (None, None)),
        ("Ana lives in Lyon", (None, None)),
        ("Сестра живёт в Омске", (None, None)),
        ("妹妹住在北京", (None, None)),
    ],
)
def test_a_missing_triple_comes_from_a_sentence_that_is_wholly_understood(
    content: str, triple: tuple[str | None, str | None]
) -> None:
    made = draft(content)
    assert (made.predicate, made.object) == triple
    assert made.subject == ("user" if triple[0] else None)


def test_yet_to_come_and_past_are_not_the_present() -> None:
    tenses = {
        text: found.tense
        for text in ("Will live in Lyon", "Lived in Lyon", "Lives in Lyon")
        if (found := derive(text))
    }
    assert list(tenses.values()) == ["future", "past", "present"]


@pytest.mark.parametrize("subject", ["User", "the user", "I", "я", "Пользователь", "tôi", "我", "用户"])
def test_the_person_has_one_name(subject: str) -> None:
    assert draft("x", subject=subject, predicate="likes", object="tea").subject == "user"


def test_somebody_elses_town_is_not_the_users() -> None:
    given = FactDraft("Sister lives in Lyon", (1,), subject="user", predicate="lives_in", object="Lyon")
    assert normalise(given).subject == "sister"
    assert draft("Ana lives in Lyon", subject="Ana", predicate="lives_in", object="Lyon").subject == "Ana"


def test_health_and_names_are_vital_where_they_are_the_users_and_hold() -> None:
    assert draft("Allergic to shrimp").vital
    assert draft("Зовут Олег").vital
    assert not draft("Not allergic to shrimp").vital
    assert not draft(
        "Sister is allergic to nuts", subject="sister", predicate="allergic_to", object="nuts"
    ).vital
    assert not draft("Likes tea").vital


def test_an_unknown_predicate_is_kept() -> None:
    made = draft("Rides a bike to work", subject="user", predicate="Commutes by", object="bike")
    assert (made.predicate, made.object) == ("commutes_by", "bike")


def test_normalising_twice_changes_nothing() -> None:
    for content in ("No longer lives in Moscow", "Я живу в Ангарске", "Doesn't like onions", "Rides a bike"):
        assert normalise(draft(content)) == draft(content)
