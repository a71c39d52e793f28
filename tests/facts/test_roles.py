"""Who somebody is to the user stands in a message outright, or nowhere."""

from __future__ import annotations

import pytest

from keepsake.facts.roles import mentions, name_in, said_of


@pytest.mark.parametrize(
    ("text", "name", "role"),
    [
        ("my girlfriend Xiaoya likes sushi", "Xiaoya", "girlfriend"),
        ("I told my girlfriend, Xiaoya, about it", "Xiaoya", "girlfriend"),
        ("My girlfriend is called Xiaoya.", "Xiaoya", "girlfriend"),
        ("Xiaoya is my girlfriend", "Xiaoya", "girlfriend"),
        ("met Xiaoya (my girlfriend) at noon", "Xiaoya", "girlfriend"),
        ("Xiaoya, my girlfriend, cooks", "Xiaoya", "girlfriend"),
        ("my girlfriend's name is Anna Lee", "Anna Lee", "girlfriend"),
        ("my girlfriend Xiaoya's birthday", "Xiaoya", "girlfriend"),
        ("my older brother Tom", "Tom", "brother"),
        ("does my sister Ana like tea?", "Ana", "sister"),
        ("моя девушка Катя любит суши", "Катя", "girlfriend"),
        ("подарю моей девушке Кате книгу", "Катя", "girlfriend"),
        ("мою девушку зовут Катя", "Катя", "girlfriend"),
        ("Катя — моя девушка", "Катя", "girlfriend"),
        ("Катя это моя девушка", "Катя", "girlfriend"),
        ("у меня есть девушка, Катя", "Катя", "girlfriend"),
        ("жена Оля заболела", "Оля", "wife"),
        ("мой младший брат Петя", "Петя", "brother"),
        ("bạn gái tôi Linh thích phở", "Linh", "girlfriend"),
        ("bạn gái của mình tên là Linh", "Linh", "girlfriend"),
        ("Linh là bạn gái tôi", "Linh", "girlfriend"),
        ("mẹ tôi tên Lan", "Lan", "mother"),
        ("我女朋友小雅喜欢寿司", "小雅", "girlfriend"),
        ("我的女朋友叫小雅", "小雅", "girlfriend"),
        ("小雅是我女朋友", "小雅", "girlfriend"),
        ("我女朋友小雅喜欢寿司", "Xiaoya", "girlfriend"),
        ("my cat is named Tom", "Tom", "cat"),
        ("мой кот Барсик", "Барсик", "cat"),
        ("my boss Mr. Kim", "Kim", None),
    ],
)
def test_a_message_says_who_somebody_is(text: str, name: str, role: str | None) -> None:
    assert [mention.role.name for mention, _ in said_of(text, name)] == ([role] if role else [])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my girlfriend loves sushi. Xiaoya came by", "Xiaoya"),
        ("his girlfriend Xiaoya", "Xiaoya"),
        ("my brother's girlfriend Xiaoya", "Xiaoya"),
        ("my ex-girlfriend Xiaoya", "Xiaoya"),
        ("my ex girlfriend Xiaoya", "Xiaoya"),
        ("Xiaoya is not my girlfriend", "Xiaoya"),
        ("Xiaoya was my girlfriend", "Xiaoya"),
        ("my girlfriend is not Xiaoya", "Xiaoya"),
        ("is Xiaoya my girlfriend?", "Xiaoya"),
        ("I saw Xiaoya, my girlfriend was late", "Xiaoya"),
        ("a friend Tom", "Tom"),
        ("там была девушка Катя", "Катя"),
        ("моя бывшая девушка Катя", "Катя"),
        ("его девушка Катя", "Катя"),
        ("у Толи жена Оля", "Оля"),
        ("Катя не моя девушка", "Катя"),
        ("Катя моя девушка?", "Катя"),
        ("bạn gái cũ Linh", "Linh"),
        ("bạn gái của anh ấy tên Linh", "Linh"),
        ("Linh không phải là bạn gái tôi", "Linh"),
        ("我前女友小雅", "小雅"),
        ("他女朋友小雅", "小雅"),
        ("我弟弟的女朋友小雅", "小雅"),
        ("小雅不是我女朋友", "小雅"),
    ],
)
def test_nothing_is_guessed(text: str, name: str) -> None:
    assert said_of(text, name) == ()


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("what does my girlfriend like?", "girlfriend"),
        ("girlfriend's birthday", "girlfriend"),
        ("когда день рождения у моей девушки?", "girlfriend"),
        ("что любит жена?", "wife"),
        ("bạn gái thích ăn gì?", "girlfriend"),
        ("女朋友喜欢吃什么", "girlfriend"),
        ("where is a friend?", None),
        ("what does his wife do?", None),
        ("какая красивая девушка", None),
        ("which parenthesis is missing?", None),
    ],
)
def test_a_question_means_ones_own_people(question: str, role: str | None) -> None:
    assert [mention.role.name for mention in mentions(question)] == ([role] if role else [])


def test_a_name_is_told_from_what_stands_before_it() -> None:
    assert name_in("a cat named Tom") == "Tom"
    assert name_in("girlfriend Xiaoya") == "Xiaoya"
    assert name_in("Xiaoya") == "Xiaoya"
    assert name_in("sister") is None
    assert name_in("what I said to everybody at the long meeting of the board") is None
