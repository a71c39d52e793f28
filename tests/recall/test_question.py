"""What a question asks for."""

from __future__ import annotations

import time

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


def test_a_channel_does_not_swallow_the_words_of_its_title() -> None:
    title = "Berlin Hotel News"
    asked = understand(Question(7, "which hotel did I book in Berlin?"), [title])
    assert asked.named == frozenset()
    assert asked.terms == ["hotel", "book", "berlin"]
    assert understand(Question(7, "what do Berlin Hotel News say?"), [title]).named == {title}


def test_a_surname_of_two_names_the_one_whose_whole_name_stands_there() -> None:
    speakers = ["Anna Müller", "Bob Müller"]
    assert understand(Question(7, "What did Anna Müller say?"), speakers).named == {"Anna Müller"}
    assert understand(Question(7, "What did Bob say?"), speakers).named == {"Bob Müller"}
    shared = understand(Question(7, "What did Müller say?"), speakers)
    assert shared.named == frozenset()
    assert "muller" in shared.terms


def test_one_character_of_a_name_names_nobody() -> None:
    assert understand(Question(7, "明天我去哪里？"), ["王小明"]).named == frozenset()
    assert understand(Question(7, "王小明说了什么？"), ["王小明"]).named == {"王小明"}


def test_a_group_of_ten_thousand_does_not_hold_the_loop() -> None:
    speakers = [f"Name{number} Family{number % 999}" for number in range(10_000)]
    question = Question(7, "which hotel did I book in Berlin?")
    taken = []
    for _ in range(6):
        begin = time.process_time()
        understand(question, speakers)
        taken.append(time.process_time() - begin)
    # About 2 ms; 60 ms where each name is analysed anew, as at first.
    assert min(taken[1:]) < 0.02


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
