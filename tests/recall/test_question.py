"""What a question asks for."""

from __future__ import annotations

from keepsake.recall.question import TERMS_MAX, Question, understand

BEFORE = ["Tell me of the greenhouse project", "It is going well."]


def test_a_speakers_name_is_taken_out_and_kept_apart() -> None:
    asked = understand(Question(7, "What did Caroline's sister research?"), ["Caroline", "Melanie"])
    assert asked.named == {"Caroline"}
    assert "caroline" not in asked.text.lower()
    assert "carolin" not in asked.terms
    assert "research" in asked.terms


def test_each_part_of_a_name_names_its_owner() -> None:
    asked = understand(Question(7, "where does Анна work now?"), ["Анна Петрова"])
    assert asked.named == {"Анна Петрова"}
    assert "анн" not in " ".join(asked.terms)


def test_a_question_of_nothing_but_a_name_keeps_it() -> None:
    asked = understand(Question(7, "Caroline?"), ["Caroline"])
    assert asked.text == "Caroline?"
    assert asked.terms


def test_names_of_others_stay() -> None:
    asked = understand(Question(7, "who is Berta, really?"), ["Caroline"])
    assert asked.named == frozenset()
    assert "berta" in asked.terms


def test_a_vague_question_takes_the_turns_before_it_along() -> None:
    asked = understand(Question(7, "and when was it?", BEFORE), [])
    assert asked.terms == []  # all of it are stop words
    assert "greenhous" in asked.earlier_terms
    short = understand(Question(7, "which town?", BEFORE), [])
    assert short.terms == ["town"]
    assert "greenhous" in short.earlier_terms


def test_a_plain_question_stands_alone() -> None:
    asked = understand(Question(7, "which flowers grow in my garden?", BEFORE), [])
    assert asked.earlier == asked.earlier_terms == []


def test_a_pasted_page_is_bounded() -> None:
    asked = understand(Question(7, " ".join(f"word{n}" for n in range(200_000))), [])
    assert len(asked.terms) == TERMS_MAX
    assert len(asked.text) < 10_000
