"""The two weightings of R2, by their formulas."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from keepsake.errors import SettingError
from keepsake.facts.keeper import weighting_of
from keepsake.facts.profile import holding, select
from keepsake.facts.scoring import Mnemosyne, TriTier, by_words, scores
from keepsake.index.terms import analyse
from keepsake.settings import load_settings
from tests.facts.known import NOW, fact

MONTH_AGO = NOW - timedelta(days=30)


def test_mnemosyne() -> None:
    old = fact(1, "Reads a lot", created_at=MONTH_AGO, importance=0.5, confidence=0.8)
    wanted = 0.55 * 0.4 + 0.20 * 0.5 + 0.15 * math.exp(-1) + 0.10 * 0.8
    assert scores(Mnemosyne(), [old], {1: 0.4}, NOW) == {1: pytest.approx(wanted)}


def test_tri_tier() -> None:
    used = fact(1, "Reads a lot", created_at=MONTH_AGO - timedelta(days=99), last_hit_at=MONTH_AGO, hits=3)
    most = fact(2, "Sings", created_at=MONTH_AGO, hits=7)
    found = scores(TriTier(), [used, most], {1: 0.4}, NOW)
    assert found[1] == pytest.approx(0.55 * 0.4 + 0.25 * 0.5 + 0.20 * math.log(4) / math.log(8))
    assert found[2] == pytest.approx(0.25 * 0.5 + 0.20)
    assert scores(TriTier(), [fact(3, "Sings")], {}, NOW) == {3: pytest.approx(0.25)}


@pytest.mark.parametrize("weighting", [Mnemosyne(), TriTier()])
def test_vital_facts_do_not_age(weighting: Mnemosyne | TriTier) -> None:
    ancient = NOW - timedelta(days=3650)
    new, old = fact(1, "Allergic to nuts"), fact(2, "Allergic to milk", created_at=ancient)
    found = scores(weighting, [new, old], {}, NOW)
    assert found[1] == found[2]


def test_vital_facts_come_first_and_what_is_over_does_not_come() -> None:
    gone = fact(1, "Visit", valid_until=NOW - timedelta(days=2))
    today = fact(2, "Exam", valid_until=NOW.replace(hour=0))
    vital = fact(3, "Allergic to nuts", valid_until=NOW - timedelta(days=2))
    ended = fact(4, "Lives in Omsk", status="superseded")
    held = holding([gone, today, vital, ended], NOW)
    assert [one.id for one in held] == [2, 3]
    assert [one.id for one, _ in select(held, {2: 0.9, 3: 0.1}, 2)] == [3, 2]


def test_similarity_without_vectors_is_the_share_of_words() -> None:
    facts = [fact(1, "Likes green tea"), fact(2, "Owns a bike")]
    assert by_words(facts, analyse, "green bikes") == {1: 0.5, 2: 0.5}
    assert by_words(facts, analyse, "") == {}


def test_weightings_are_settings() -> None:
    assert weighting_of(load_settings()) == Mnemosyne()
    assert weighting_of(load_settings(fact_scoring="tri_tier")) == TriTier()
    chosen = load_settings(mnemosyne_weights="1,0,0,0", mnemosyne_tau_days="1, 2, 3")
    assert weighting_of(chosen) == Mnemosyne(1, 0, 0, 0, 1, 2, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mnemosyne_weights", "0.5,0.2,0.15,0.1"),
        ("mnemosyne_weights", "0.55,0.25,0.20"),
        ("tri_tier_weights", "2,-1,0"),
        ("tri_tier_weights", "much,0,0"),
        ("mnemosyne_tau_days", "30,0,14"),
        ("tri_tier_half_life_days", "7,nan"),
    ],
)
def test_weights_that_cannot_be_are_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name.upper()):
        load_settings(**{name: value})
