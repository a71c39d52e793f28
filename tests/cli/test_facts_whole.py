"""Facts over the whole program: told, settled, asked for, explained, and kept without a model."""

from __future__ import annotations

import json

import pytest

from tests.cli.program import bot
from tests.model_server import MODEL, ModelServer


def test_a_move_is_settled_and_every_fact_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", MODEL)
        assert bot("chat", stdin="I live in Angarsk, remember that\n").status == 0
        assert bot("chat", stdin="From now on I live in Irkutsk\n").status == 0
        assert bot("chat", stdin="which city do I live in?\n").status == 0
        system = str(server.chats()[-1]["messages"][0]["content"])
        why = bot("chat", stdin="/why\n").out
    assert "- Lives in Irkutsk" in system
    assert "- Lives in Angarsk" not in system
    assert "Lives in Irkutsk (confidence 0.95" in why
    assert "you: From now on I live in Irkutsk" in why
    active = json.loads(bot("facts", "1", "--json").out)
    assert [fact["content"] for fact in active] == ["Lives in Irkutsk"]
    old, new = json.loads(bot("facts", "1", "--all", "--json").out)
    assert (old["status"], old["valid_until"]) == ("superseded", new["valid_from"])
    assert [change["what"] for change in old["history"]] == ["learned", "superseded"]
    assert old["history"][1]["other_id"] == new["id"]
    shown = bot("facts", "1", "--all").out
    assert f"superseded by {new['id']} (extraction, noted " in shown
    assert bot("verify").status == 0


def test_what_is_remembered_by_hand_is_kept_with_the_model_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_MODEL", MODEL)
    talk = bot("chat", stdin="/remember I am allergic to shrimp\n/remember PIN: 4821\n/facts\n")
    assert "I will remember: I am allergic to shrimp" in talk.out
    assert "do not keep those" in talk.out
    assert "1. I am allergic to shrimp (confidence 0.99" in talk.out
    (fact,) = json.loads(bot("facts", "1", "--json").out)
    assert (fact["vital"], fact["origin"], fact["predicate"], fact["object"]) == (
        True,
        "by_hand",
        "allergic_to",
        "shrimp",
    )
    assert "I am allergic to shrimp" in bot("context", "1", "dinner?").out
