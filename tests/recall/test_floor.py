"""What is worth showing."""

from __future__ import annotations

from keepsake.manager import MemoryManager
from keepsake.recall.floor import RELATIVE, SAME_MEANING, above
from keepsake.recall.question import Question, understand
from keepsake.recall.ranking import CosineScale
from keepsake.settings import Settings

SCALE = CosineScale(nothing=0.2, match=0.7)
PLAIN = understand(Question(7, "which flowers grow in my little garden?"), [])
LOOK_UP = understand(Question(7, "zebra"), [])


def test_what_is_under_the_floor_is_not_shown() -> None:
    assert above(0.3, [(1, 0.35), (2, 0.29)], PLAIN, {}, {}, SCALE) == [(1, 0.35)]
    assert above(0.3, [(1, 0.2)], PLAIN, {}, {}, SCALE) == []
    assert above(0.3, [], PLAIN, {}, {}, SCALE) == []


def test_far_behind_the_best_is_not_shown() -> None:
    assert above(0.1, [(1, 0.9), (2, 0.9 * RELATIVE), (3, 0.5)], PLAIN, {}, {}, SCALE) == [
        (1, 0.9),
        (2, 0.9 * RELATIVE),
    ]


def test_a_look_up_shows_what_holds_the_word_or_means_it() -> None:
    ranked = [(1, 0.4), (2, 0.4), (3, 0.4)]
    same = 0.2 + SAME_MEANING * 0.5
    assert above(0.3, ranked, LOOK_UP, {1: 0.5}, {2: same, 3: same - 0.01}, SCALE) == [(1, 0.4), (2, 0.4)]


def test_a_vague_question_with_turns_before_it_is_no_look_up() -> None:
    vague = understand(Question(7, "which town?", ["I moved last year"]), [])
    assert above(0.3, [(1, 0.4)], vague, {}, {}, SCALE) == [(1, 0.4)]


async def test_by_words_alone_some_of_a_long_questions_words_are_enough(settings: Settings) -> None:
    async with MemoryManager(settings) as memory:
        said = await memory.save_message(7, "user", "Martha keeps her violin in the attic now")
        for number in range(30):
            await memory.save_message(7, "user", f"an ordinary evening with book number {number}")
        question = "can you remind me in which room of that old house the violin is stored"
        assert said.id in [message.id for message, _ in await memory.find(7, question)]
        assert await memory.find(7, "which xylophone did Ursula borrow from Quentin") == []
