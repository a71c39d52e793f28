"""Words that name times, in four languages, and what each says. Pure.

Months, weekdays, units and relative days come from CLDR by way of dateparser (BSD-3-Clause; its licence stands in
data/dateparser_words.json beside the words, and `python -m keepsake.recall.date_words_file` makes that file anew).
What its tables do not say stands in `_OURS`.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


DATA = Path(__file__).parent / "data" / "dateparser_words.json"
MONTHS = _list("january february march april may june july august september october november december")
WEEKDAYS = _list("monday tuesday wednesday thursday friday saturday sunday")
UNITS = _list("hour day week month year")


class Word(NamedTuple):
    """A word of time. `kind`: one letter, see `KINDS`; `value`: a number, a shift or an offset; `unit`: of what."""

    kind: str
    value: int = 0
    unit: str = ""


KINDS = {
    "M": "month, 1–12",
    "m": "month that is a word or a name too; counts only beside a preposition, a number or a year",
    "W": "weekday, 0–6 from Monday",
    "w": "weekday that may be another word",
    "H": "weekday as a habit (Fridays)",
    "U": "unit",
    "N": "number word; 0: a few",
    "S": "shift: last −1, this 0, next 1",
    "L": "lately: the time up to now",
    "A": "ago",
    "R": "unit at an offset: yesterday, last week",
    "J": "day of a week at an offset, in days from this Monday: 上周五",
    "P": "part of a day at an offset: tonight",
    "D": "part of a day",
    "E": "part of a period: early 0, middle 1, late 2",
    "O": "such a part of the month or year that it names itself: 月初",
    "F": "season; its first month",
    "G": "season that needs no preposition",
    "K": "weekend at an offset",
    "k": "weekend that counts only beside a preposition",
    "x": "no word of time",
    "V": "a few days ago",
    "Q": "number of units",
    "p": "preposition of months and years",
    "q": "preposition of days",
    "v": "preposition of both",
    "g": "ngày, which is a preposition of days, and a unit after a number; read as q or Q",
    "u": "what follows the number of a day",
    "h": "article",
    "c": "since",
    "f": "from, between",
    "t": "until",
    "&": "and, to",
    "B": "before, after, by",
    "e": "every",
}

# Half-open, in hours from midnight; generous, since people are.
PARTS = {"morning": (4, 12), "noon": (11, 15), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}

# Endings of Russian adjectives, hard and soft; a stem that ends in "~" takes them all.
_ADJECTIVE = _list("ый ий ого его ому ему ым им ом ем ая яя ой ей ую юю ое ее ые ие ых их ыми ими")
_THIS = "этот|этого|этому|этим|этом|эта|этой|эту|это|эти|этих|этими"

# Kind, value, unit, words. "^": Vietnamese that without diacritics would be another word.
_OURS = (
    ("S", -1, "", "last|previous|прошл~|предыдущ~|上|上个|上一个|上一"),
    ("S", 0, "", f"this|current|{_THIS}|текущ~|这|这个|本"),
    ("S", 1, "", "next|coming|следующ~|будущ~|下|下个|下一个"),
    ("L", 0, "", "past|recent|последн~|минувш~|过去|过去的|最近|最近的|近"),
    ("L", 1, "", "qua|vừa qua|vừa rồi|gần đây|trở lại đây"),
    ("A", 0, "", "earlier|back|тому назад|以前|之前"),
    ("R", -1, "week", "tuần rồi|上星期|上个星期|上礼拜|上个礼拜|той неделе"),
    ("R", 0, "week", "这周|这个星期|这星期|这礼拜"),
    ("R", -2, "week", "week before last|tuần trước nữa|上上周|позапрошл~ неделе"),
    ("R", -1, "month", "tháng rồi|上月"),
    ("R", 0, "month", "这个月|这月|当月"),
    ("R", -2, "month", "month before last|上上个月|позапрошл~ месяце"),
    ("R", -1, "year", "năm trước|năm rồi"),
    ("R", -2, "year", "year before last|năm kia|前年|позапрошл~ году|позапрошл~ года"),
    ("R", 0, "day", "hnay|сегодняшн~|今日"),
    ("R", -1, "day", "hqua|вчерашн~|昨日"),
    ("R", -2, "day", "hôm kia|前日"),
    ("R", -3, "day", "hôm kìa^"),
    ("V", 0, "", "the other day|на днях|hôm nọ|hôm trước|bữa trước|bữa nọ|前几天|前两天|前些天"),
    ("P", 0, "morning", "今早|今晨"),
    ("P", 0, "evening", "tonight|今晚|今夜"),
    ("P", -1, "night", "last night|昨晚|昨夜|đêm hôm qua|đêm qua|tối qua^|tối hôm qua"),
    ("P", 0, "night", "đêm nay"),
    ("D", 0, "morning", "morning|утром|утра|buổi sáng|sáng|早上|上午|早晨|凌晨|清晨"),
    ("D", 0, "noon", "noon|lunchtime|в обед|buổi trưa|trưa|中午"),
    ("D", 0, "afternoon", "afternoon|днем|после обеда|buổi chiều|chiều|下午"),
    ("D", 0, "evening", "evening|вечером|вечера|buổi tối|tối^|晚上|傍晚"),
    ("D", 0, "night", "night|ночью|ночи|ban đêm|đêm|夜里|深夜|半夜"),
    ("E", 0, "", "early|beginning|start|начало|начале|начала|đầu|hồi đầu|初"),
    ("E", 1, "", "mid|middle|середина|середине|середины|giữa|中旬"),
    ("E", 2, "", "late|end|конец|конце|конца|cuối|底|末"),
    ("O", 0, "month", "月初"),
    ("O", 2, "month", "月底|月末"),
    ("O", 0, "year", "年初"),
    ("O", 2, "year", "年底|年末"),
    ("F", 3, "", "spring|весна|весны|весну|mùa xuân|春天|春季"),
    ("F", 6, "", "summer|лето|лета|mùa hè|hè^|mùa hạ|夏天|夏季|暑假"),
    ("F", 9, "", "autumn|осень|осени|mùa thu|秋天|秋季"),
    ("F", 12, "", "winter|зима|зимы|зиму|mùa đông|冬天|冬季"),
    ("G", 3, "", "весной"),
    ("G", 6, "", "летом"),
    ("G", 9, "", "осенью"),
    ("G", 12, "", "зимой"),
    ("k", 0, "", "weekend|выходные|выходных"),
    ("K", 0, "last begun", "at the weekend|cuối tuần|周末"),
    ("H", 5, "", "weekends|выходным"),
    # Words that only contain one of time.
    ("x", 0, "", "提前|目前|眼前|面前|年级|年纪|年龄|年轻|周年|周围|周边|周到"),
    ("K", -1, "", "cuối tuần trước|cuối tuần rồi|cuối tuần qua|cuối tuần vừa rồi|上周末|上个周末"),
    ("K", 0, "", "cuối tuần này|这周末|这个周末|本周末"),
    ("U", 0, "day", "днем|сутки|bữa"),
    ("U", 0, "week", "неделе|неделей|неделями|礼拜|个星期|个礼拜"),
    ("U", 0, "month", "месяце|месяцем|месяцу|месяцы|thg"),
    ("U", 0, "year", "годом|годы|годов|yrs"),
    ("U", 0, "hour", "часу|часом|o clock|giờ|tiếng|钟头|个小时"),
    ("U", 0, "minute", "minute|minutes|min|mins|минут|минуту|минуты|мин|phút|分钟"),
    ("Q", 6, "month", "half a year|полгода|半年|nửa năm"),
    ("N", 0, "", "few|several|несколько|vài|mấy|几|数"),
    ("N", 1, "", "a|an|one|один|одну|одна|một|一"),
    ("N", 2, "", "two|couple|couple of|два|две|двух|пару|пара|hai|二|两|俩"),
    ("N", 3, "", "three|три|трех|ba|三"),
    ("N", 4, "", "four|четыре|четырех|bốn|四"),
    ("N", 5, "", "five|пять|五"),
    ("N", 6, "", "six|шесть|sáu^|六"),
    ("N", 7, "", "seven|семь|bảy|七"),
    ("N", 8, "", "eight|восемь|tám|八"),
    ("N", 9, "", "nine|девять|chín|九"),
    ("N", 10, "", "ten|десять|mười|十"),
    ("N", 11, "", "eleven|одиннадцать|mười một"),
    ("N", 12, "", "twelve|двенадцать|mười hai"),
    ("p", 0, "", "in|of|during|за|trong|hồi"),
    ("q", 0, "", "on|over|на|mùng|mồng|hôm"),
    ("g", 0, "", "ngày"),
    ("u", 0, "", "числа"),
    ("v", 0, "", "в|во|vào"),
    ("h", 0, "", "the|that"),
    ("c", 0, "", "since|с|со|từ|kể từ|从|自|自从"),
    ("f", 0, "", "from|between|от|между|giữa^"),
    ("t", 0, "", "until|till|through|до|по|đến|tới|到|至"),
    ("&", 0, "", "to|and|и|và|和|跟"),
    ("B", 0, "", "before|by|after|перед|к|после|sau"),
    ("e", 0, "", "every|each|кажд~|mỗi|hàng|hằng|每|每个"),
)

# In dateparser's tables, and yet not said of time, or far oftener said of something else.
_NOT_MEANT = frozenset(
    (
        *_list("mo y yr d m h tu we th fr sa su s с д buổi chút lát ngày thang 日 月 分"),
        *("ban ngày", "nguyên bản", "thứ 1", "till date"),
    )
)
# Months and weekdays that are words or names too. Of these _VERBS stand before numbers in plain English as well.
_DOUBTFUL = frozenset(
    _list(
        "may march april june august jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu fri sat sun"
        " янв февр фев мар апр июн июл авг сент сен окт нояб ноя дек марта марту марте мая среда среды"
        " пн вт ср чт пт сб вс пнд втр срд чтв птн сбт вск cn"
    )
)
# 上周五 is the Friday of last week, not the last Friday.
_WEEKS = ((-2, ("上上", "上上个")), (-1, ("上", "上个")), (0, ("这", "这个", "本")), (1, ("下", "下个")))
_VERBS = frozenset(("may", "march", "mar"))


class Vocabulary(NamedTuple):
    """`phrases`: by first word, each phrase's other words and what it says, longest first; `han`: Chinese phrases."""

    phrases: dict[str, list[tuple[tuple[str, ...], Word]]]
    han: list[str]


@lru_cache(1)
def vocabulary() -> Vocabulary:
    """All words of time, casefolded, ё as е; Vietnamese with its diacritics and without any."""
    phrases: dict[str, dict[tuple[str, ...], Word]] = {}
    words = [*_from_dateparser(), *_ours()]
    for text, word in words:
        _add(phrases, text.removesuffix("^"), word)
    for text, word in words:
        if bare := _without_diacritics(text):
            _add(phrases, bare, word, over=False)  # "may" is the month before it is "mấy"
    ordered = {
        first: sorted(found.items(), key=lambda item: -len(item[0])) for first, found in phrases.items()
    }
    return Vocabulary(ordered, sorted(filter(is_han, phrases), key=len, reverse=True))


def _add(
    phrases: dict[str, dict[tuple[str, ...], Word]], text: str, word: Word, *, over: bool = True
) -> None:
    first, *rest = text.split()
    found = phrases.setdefault(first, {})
    if over or tuple(rest) not in found:
        found[tuple(rest)] = word


def is_han(text: str) -> bool:
    """Is its last letter a Chinese character?"""
    return "\u3007" <= text[-1] <= "\u9fff"


def _without_diacritics(text: str) -> str | None:
    """Vietnamese as it is typed without diacritics; None for other languages and where that is another word."""
    if text.isascii() or text.endswith("^") or not unicodedata.name(text[0]).startswith("LATIN"):
        return None
    plain = unicodedata.normalize("NFD", text.replace("đ", "d"))
    return "".join(c for c in plain if not unicodedata.combining(c))


def _ours() -> Iterator[tuple[str, Word]]:
    for kind, value, unit, words in _OURS:
        for text in words.split("|"):
            stem, tilde, rest = text.partition("~")
            for ending in _ADJECTIVE if tilde else ("",):
                yield stem + ending + rest, Word(kind, value, unit)
    for part, (offset, word) in product(
        ("sáng", "trưa", "chiều", "tối"), ((0, "nay"), (-1, "qua^"), (-1, "hôm qua"))
    ):
        name = {"sáng": "morning", "trưa": "noon", "chiều": "afternoon", "tối": "evening"}[part]
        mark = "^" if part == "tối" and word != "hôm qua" else ""
        yield f"{part} {word}{mark}".replace("^^", "^"), Word("P", offset, name)


def _from_dateparser() -> Iterator[tuple[str, Word]]:
    tables = json.loads(DATA.read_text("utf-8"))["words"]
    for language, table in tables.items():
        for number, name in enumerate(MONTHS, 1) if language != "zh" else ():  # date_tokens reads 三月 itself
            yield from _named("M", number, table[name], language)
        for number, name in enumerate(WEEKDAYS):
            yield from _named("W", number, table[name], language)
        for unit in UNITS:
            yield from _words(table[unit], Word("U", 0, unit))
        yield from _words(table["ago"], Word("A"))
        yield from _relative(table["relative-type"])
    # Vietnamese "tháng" and "năm" stand here because the tables' own "thang" is a ladder.
    yield "tháng", Word("U", 0, "month")


def _words(texts: Iterable[str], word: Word) -> Iterator[tuple[str, Word]]:
    for text in texts:
        folded = unicodedata.normalize("NFC", text.casefold()).replace("ё", "е")
        if folded not in _NOT_MEANT:
            yield folded, word


def _relative(table: dict[str, list[str]]) -> Iterator[tuple[str, Word]]:
    """Keys read "1 week ago" and "in 2 day"."""
    for key, texts in table.items():
        parts = key.split()
        sign, number, unit = (1, parts[1], parts[2]) if parts[0] == "in" else (-1, parts[0], parts[1])
        if unit in UNITS and unit != "hour" and number.isdigit():
            yield from _words(texts, Word("R", sign * int(number), unit))


def _named(kind: str, number: int, texts: Iterable[str], language: str) -> Iterator[tuple[str, Word]]:
    """Months and weekdays, with the endings of Russian and the plural of habit."""
    for text, word in _words(texts, Word(kind, number)):
        for form in _declined(text) if language == "ru" else (text,):
            yield form, _doubted(word, form, language)
        if kind == "W":
            plural = {"en": f"{text}s", "ru": _russian_plural(text)}.get(language)
            if plural and len(text) > 3:
                yield plural, Word("H", number)
        if kind == "W" and language == "zh":
            for offset, prefixes in _WEEKS:
                yield from ((prefix + text, Word("J", 7 * offset + number)) for prefix in prefixes)
        if kind == "M" and language == "vi" and text[-1].isdigit() and text[-2] == " ":
            yield f"{text[:-1]}0{text[-1]}", word  # "tháng 03"


def _doubted(word: Word, form: str, language: str) -> Word:
    if form in _VERBS:
        return Word(word.kind.lower(), word.value, "verb")
    vietnamese_ordinal = word.kind == "W" and language == "vi" and form != "chủ nhật"
    if form in _DOUBTFUL or vietnamese_ordinal:
        return Word(word.kind.lower(), word.value)
    return word


def _declined(word: str) -> set[str]:
    """A Russian month or weekday in its cases; the tables hold two of six."""
    if len(word) < 3 or word in _DOUBTFUL:
        return {word}
    stem, end = word[:-1], word[-1]
    if end in "ьй":
        return {word, *(stem + e for e in ("я", "ю", "ем", "е"))}
    if end in "ткг":
        return {word, *(word + e for e in ("а", "у", "ом", "е"))}
    if end == "е":
        return {word, *(stem + e for e in ("я", "ю", "ем"))}
    if end == "а" and word != "среда":
        return {word, *(stem + e for e in ("у", "ы", "е", "ой", "ей"))}
    return {word, "среды"} if word == "среда" else {word}


def _russian_plural(word: str) -> str | None:
    if word.endswith("а"):
        return word + "м"
    return word[:-1] + "ям" if word.endswith("е") else word + "ам"
