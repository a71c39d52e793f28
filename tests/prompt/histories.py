"""Random memories in several languages, code and emoji; the same seed gives the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from keepsake.models import CATEGORIES, Fact, Message
from keepsake.prompt.block import BlockParts

WHEN = datetime(2026, 3, 11, tzinfo=UTC)

_SENTENCES = {
    "en": "the ferry leaves harbour at seven my sister works night shifts allergic shrimp 12 May 4,500 EUR",
    "ru": "живу в Ангарске сестра работает по ночам аллергия на креветки 12 мая договорились переехать",
    "vi": "tôi ăn tôm được không dị ứng thực phẩm chị gái làm việc ban đêm Hà Nội ngày 12 tháng 5",
    "zh": "我住在北京 对虾过敏 姐姐上夜班 五月十二日 搬家 系统管理员 今天天气很好 会议改到三点",
    "emoji": "👍🏽 🇻🇳 👩‍👩‍👧 🎉 🔥 ❤️ …",
}
_WORDS = {language: words.split() for language, words in _SENTENCES.items()}
_WORDS["code"] = [
    "def f(x):\n",
    "    return x[1:-1]\n",
    "if (a != b) {",
    "}\n",
    "0x7fffe0",
    "SELECT *",
    "\t\t",
    "\r\n",
]
_WORDS["emoji"] += ["\u2028", "\v"]
LANGUAGES = tuple(_WORDS)


def text(chance: random.Random, words: int) -> str:
    """So many words of one language, some of another; never empty."""
    main, other = chance.choice(LANGUAGES), chance.choice(LANGUAGES)
    most = min(max(1, words), 24)
    picked = chance.choices(_WORDS[main], k=most) + chance.choices(_WORDS[other], k=most // 8)
    return ("" if main == "zh" else " ").join(picked * (max(1, words) // most))


def message(message_id: int, content: str, sender: str | None = None) -> Message:
    return Message(message_id, 7, "user" if message_id % 2 else "assistant", content, WHEN, 1, sender)


def fact(fact_id: int, content: str) -> Fact:
    category = CATEGORIES[fact_id % len(CATEGORIES)]
    return Fact(
        fact_id, 7, content, category, "fact", "active", "extracted", 0.8, 0.9, False, 0, WHEN, WHEN, WHEN
    )


def memories(chance: random.Random) -> BlockParts:
    """A conversation of up to 34 messages of any length, facts of at most 200 characters, topics, summaries."""

    def length() -> int:
        return int(min(chance.paretovariate(0.6) * 4, 1000))

    def messages(most: int, first: int) -> list[Message]:
        names = [None, None, None, "Anna", "Имя " * 20, "S" * 10_000, "👍🏽" * 100]
        return [
            message(first + place, text(chance, length()), chance.choice(names))
            for place in range(chance.randrange(most + 1))
        ]

    scores = sorted((chance.random() for _ in range(6)), reverse=True)
    return BlockParts(
        facts=[fact(place, text(chance, length())[:200]) for place in range(chance.randrange(9))],
        topics=[(text(chance, 2), text(chance, 8)) for _ in range(chance.randrange(6))],
        summaries=[(WHEN, text(chance, min(length(), 120))) for _ in range(chance.randrange(7))],
        stm=messages(8, 200),
        ltm=messages(20, 100),
        rag=list(zip(messages(6, 0), scores, strict=False)),
    )
