"""Contradictions are settled, agreement counts, and nothing that differs is ever merged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepsake.facts.claims import claim
from keepsake.facts.normalise import normalise
from keepsake.facts.reconcile import Decision, Known, reconcile, relate
from keepsake.models import Fact, FactDraft
from tests.facts.known import draft, fact

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "pairs.jsonl").read_text("utf-8").splitlines()]
MOST_ALIKE = 1.0  # as if every vector said that they are the same


def side(pair: dict[str, Any], name: str) -> FactDraft:
    subject, predicate, object_ = pair.get(f"{name}_triple", (None, None, None))
    return normalise(FactDraft(pair[name], (1,), subject=subject, predicate=predicate, object=object_))


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair["same"]], ids=lambda pair: pair["a"])
def test_what_differs_is_never_merged(pair: dict[str, Any]) -> None:
    one, other = claim(side(pair, "a")), claim(side(pair, "b"))
    assert "same" not in (relate(one, other, MOST_ALIKE), relate(other, one, MOST_ALIKE))


@pytest.mark.parametrize("language", ["en", "ru", "vi", "zh"])
def test_of_true_duplicates_most_are_merged(language: str) -> None:
    pairs = [pair for pair in PAIRS if pair["same"] and pair["lang"] == language]
    merged = [p for p in pairs if relate(claim(side(p, "a")), claim(side(p, "b")), MOST_ALIKE) == "same"]
    assert len(merged) >= 0.8 * len(pairs)
    assert len(PAIRS) >= 200


def decide(new: FactDraft, *facts: Fact, **known: Any) -> Decision:
    return reconcile(new, Known(facts, **known))


@pytest.mark.parametrize(
    ("old", "new", "ending"),
    [
        ("Lives in Angarsk", "Lives in Irkutsk", "superseded"),
        ("Живёт в Ангарске", "Переехал в Иркутск", "superseded"),
        ("Sống ở Hà Nội", "Chuyển đến Huế", "superseded"),
        ("住在北京", "搬到上海了", "superseded"),
        ("Lives in Angarsk", "Живёт в Иркутске", "superseded"),
        ("Works as a nurse", "Job: teacher", "superseded"),
        ("Likes coffee", "Dislikes coffee", "superseded"),
        ("Не любит лук", "Любит лук", "superseded"),
        ("Lives in Moscow", "No longer lives in Moscow", "denied"),
        ("Работает в Яндексе", "Уволился из Яндекса", "denied"),
        ("对虾过敏", "对虾不过敏", "denied"),
        ("Dị ứng tôm", "Không dị ứng tôm", "denied"),
        ("Not allergic to nuts", "Allergic to nuts", "denied"),
        ("No longer lives in Moscow", "Lives in Omsk", "superseded"),
    ],
)
def test_the_later_statement_ends_the_old_one(old: str, new: str, ending: str) -> None:
    known = fact(1, old, 10)
    decision = decide(draft(new, 20), known)
    assert (decision.what, decision.merged) == ("new", ())
    assert decision.ended == ((known, ending),)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Allergic to shrimp", "Allergic to beef"),
        ("Lives in Angarsk", "Sister Ana lives in Lyon"),
        ("Lives in Angarsk", "Will live in Lyon"),
        ("Lives in Angarsk", "Lived in Lyon"),
        ("Likes coffee", "Likes tea"),
        ("Lives in Angarsk", "No longer lives in Moscow"),
    ],
)
def test_what_can_both_be_true_stands_side_by_side(old: str, new: str) -> None:
    decision = decide(draft(new, 20), fact(1, old, 10))
    assert (decision.what, decision.merged, decision.ended) == ("new", (), ())


def test_agreement_raises_confidence_and_inherits() -> None:
    old = fact(1, "Lives in Angarsk", 10, confidence=0.7, importance=0.9, vital=True, origin="by_hand")
    decision = decide(draft("The user's home is Angarsk", 20, confidence=0.6), old)
    assert (decision.what, decision.merged, decision.ended) == ("agrees", (old,), ())
    new = decision.draft
    assert new.confidence == pytest.approx(1 - 0.3 * 0.4)
    assert (new.message_ids, new.importance, new.vital, new.origin) == ((10, 20), 0.9, True, "by_hand")


def test_what_is_said_by_hand_stays_in_the_category_that_is_known() -> None:
    old = replace(fact(1, "Lives in Angarsk", 10), category="personal")
    assert decide(draft("I live in Angarsk", category="other"), old).draft.category == "personal"
    assert decide(draft("Lives in Angarsk", category="events"), old).draft.category == "events"


def test_the_same_message_read_again_is_no_second_witness() -> None:
    old = fact(1, "Lives in Angarsk", 10)
    assert decide(draft("lives in Angarsk", 10), old).what == "known"
    assert decide(draft("Resides in Angarsk", 10, confidence=0.5), old).draft.confidence == 0.9


def test_a_message_read_again_does_not_bring_back_what_ended() -> None:
    ended, now = fact(1, "Lives in Angarsk", 10, status="superseded"), fact(2, "Lives in Omsk", 20)
    assert decide(draft("Lives in Angarsk", 10), ended, now).what == "known"
    forgotten = fact(3, "Likes tea", 11, status="forgotten")
    assert decide(draft("Likes tea", 11), forgotten).what == "known"


def test_an_older_message_does_not_replace_a_newer_one() -> None:
    known = fact(2, "Lives in Omsk", 20)
    decision = decide(draft("Lives in Angarsk", 10), known)
    assert (decision.what, decision.against) == ("yields", known)


def test_a_return_to_an_old_value_is_a_new_row() -> None:
    old, between = fact(1, "Lives in Angarsk", 10, status="superseded"), fact(2, "Lives in Omsk", 20)
    decision = decide(draft("Moved to Angarsk", 30), old, between)
    assert (decision.what, decision.returns, decision.merged) == ("new", True, ())
    assert decision.ended == ((between, "superseded"),)


@pytest.mark.parametrize(
    ("known_as", "guessed", "what"), [(0.9, 0.5, "yields"), (0.5, 0.5, "new"), (0.9, 0.51, "new")]
)
def test_only_guesses_yield(known_as: float, guessed: float, what: str) -> None:
    known = fact(1, "Lives in Angarsk", 10, confidence=known_as)
    assert decide(draft("Lives in Omsk", 20, confidence=guessed), known).what == what


def test_a_correction_ends_what_was_just_said_even_of_many_values() -> None:
    said = fact(1, "Speaks Spanish", 10)
    before = fact(2, "Speaks German", 3)
    decision = decide(draft("Speaks Portuguese", 12), before, said, correcting=[10, 11])
    assert decision.ended == ((said, "corrected"),)
    assert decide(draft("Speaks Portuguese", 12), before, said).ended == ()


def test_a_correction_never_ends_an_allergy() -> None:
    said = fact(1, "Allergic to shrimp", 10)
    assert decide(draft("Allergic to beef", 12), said, correcting=[10]).ended == ()


def test_a_wording_alone_needs_its_vectors_to_agree() -> None:
    old, new = fact(1, "Rides a bike to work", 10), draft("Ride a bike to work", 20)
    assert decide(new, old).what == "new"
    assert decide(new, old, cosines={1: 0.5}, gate=0.8).what == "new"
    assert decide(new, old, cosines={1: 0.9}, gate=0.8).what == "agrees"


contents = st.sampled_from([pair[name] for pair in PAIRS for name in "ab"])


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(contents, min_size=1, max_size=6))
def test_whatever_is_said_twice_is_known_once(said: list[str]) -> None:
    facts: list[Fact] = []
    for number, content in enumerate(said * 2, 1):
        decision = decide(draft(content, number), *facts)
        gone = {one.id for one in decision.merged} | {one.id for one, _ in decision.ended}
        facts = [one for one in facts if one.id not in gone]
        if decision.what in ("new", "agrees"):
            facts.append(fact(number, content, number))
    assert len({one.content for one in facts}) == len(facts)
