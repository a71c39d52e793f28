"""A text as words of time: one letter each, so that a grammar of dates is a regular expression over letters. Pure."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from keepsake.recall.date_words import vocabulary

TEXT_MAX = 2_000  # characters that are looked at
CACHED_WORDS = 8_192
_HAN = r"\u3007\u4e00-\u9fff"
_DIGITS = "〇零一二三四五六七八九"
_NUMERALS = _DIGITS + "十廿两"
_HAN_NUMBER = "(?:[〇零一二三四五六七八九十廿]{1,3}|[0-9]{1,2})"
# After a number, 号 is a day, unless it counts lines, houses, doors…
_THINGS = "线楼房门院码机台店桌车馆桥铺厅窗位柜仓元"
# Chinese writes no spaces: 唯一月台 names no January, 五月天 no May.
_BEFORE_MONTH = "(?<![唯统同单之万每第任专十一二三四五六七八九])"
_HAN_DATE = (
    rf"(?:[0-9]{{4}}|[{_DIGITS}]{{4}})年(?:{_HAN_NUMBER}月(?:{_HAN_NUMBER}[日号])?)?"
    rf"|{_BEFORE_MONTH}{_HAN_NUMBER}月(?:份(?!额)|{_HAN_NUMBER}[日号]|(?![台球饼亮光色牙票薪租供刊嫂子经天饷]))"
    rf"|{_HAN_NUMBER}[号日](?![{_THINGS}])"
    r"|(?:[0-9]{1,2}|[两三四五六七八九十]{1,3})[点時时](?:[0-9]{1,2}分?|半|钟|整)?"
)
_NUMBER = rf"[0-9]+(?:[.,:/\-–][0-9]+)*(?:-?[^\W\d_{_HAN}]+[0-9]*)?"


_WIDE_DIGITS = re.compile(r"[\uff10-\uff19]")


class Partial(NamedTuple):
    """A date of which parts may be missing."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


class Token(NamedTuple):
    """A word of time in a text; `dates`: what numbers written out may mean, likeliest first.

    Kinds besides those of `date_words.KINDS`: n number, o ordinal, y number that may be a year, r range of numbers,
    d date, b date that counts only beside a preposition, i the same that is no fraction, C time of day, "," sign, x
    anything else.
    """

    kind: str
    value: int = 0
    unit: str = ""
    text: str = ""
    dates: tuple[Partial, ...] = ()


_OTHER = Token("x")
_SIGN = Token(",")


def tokens(text: str, unless: frozenset[str] | None = None) -> list[Token]:
    """The words of a text, in order; numbers with their units are one. With `unless`, none where no such kind is."""
    text = text[:TEXT_MAX]
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)  # NFKC takes as long as all the rest
        if _WIDE_DIGITS.search(text):
            text = unicodedata.normalize("NFKC", text)
    found = _lexed(_pattern().findall(text.casefold().replace("ё", "е")))
    return _joined(found, text) if unless is None or not unless.isdisjoint(kinds_of(found)) else []


def kinds_of(found: Sequence[Token]) -> str:
    """The letters of these tokens."""
    return "".join([token.kind for token in found])


@lru_cache(1)
def _pattern() -> re.Pattern[str]:
    """Chinese dates and phrases, other Chinese, numbers, words, signs."""
    by_first: dict[str, list[str]] = {}
    for phrase in vocabulary().han:
        by_first.setdefault(phrase[0], []).append(phrase[1:])
    listed = "|".join(f"{first}(?:{'|'.join(rests)})" for first, rests in by_first.items())
    # By code points, since a class of what is left is read much faster than a lookahead at each character.
    others = _ranges_without({*by_first, *_NUMERALS})
    word = rf"[^\W\d_{_HAN}][^\W_{_HAN}]*"
    return re.compile(
        rf"{word}|[{others}]+|(?=[0-9{_NUMERALS}])(?:{_HAN_DATE})|{listed}|{_NUMBER}|[?!;:,.()。、…？！；：，（）]|[{_HAN}]"
    )


def _ranges_without(characters: set[str]) -> str:
    """A class of Chinese characters without these."""
    points = [0x4DFF, *sorted(ord(one) for one in characters if one >= "\u4e00"), 0xA000]
    pairs = ((low + 1, high - 1) for low, high in itertools.pairwise(points))
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in pairs if low <= high)


_Reading = tuple[tuple[str, ...], Token]  # a phrase's other words, and what it says


@lru_cache(1)
def _readings() -> dict[str, list[_Reading]]:
    """By first word, longest first. A word alone says nothing where only longer phrases begin with it."""
    return {
        first: [(rest, Token(*word, first)) for rest, word in found]
        + ([] if found[-1][0] == () else [((), _OTHER)])
        for first, found in vocabulary().phrases.items()
    }


def _lexed(words: list[str]) -> list[Token]:
    readings = _readings()
    found: list[Token] = []
    skip = 0
    for at, word in enumerate(words):
        if skip:
            skip -= 1
        elif word in readings:
            for rest, token in readings[word]:
                if not rest or tuple(words[at + 1 : at + 1 + len(rest)]) == rest:
                    found.append(token)
                    skip = len(rest)
                    break
        else:
            found.append(_unlisted(word))
    return found


def forget_cached() -> None:
    """Drops the words that RAM holds: they may be those of somebody who is erased."""
    _unlisted.cache_clear()


@lru_cache(CACHED_WORDS)
def _unlisted(word: str) -> Token:
    first = word[0]
    if first.isdigit() or (first in _NUMERALS and len(word) > 1):
        return _number(word)
    return _OTHER if first.isalpha() else _SIGN


def _number(text: str) -> Token:
    """What begins with a digit or is a Chinese date."""
    if text.isdigit() and text.isascii():
        value = int(text) if len(text) <= 4 else -1
        kind = "y" if len(text) == 4 and 1900 <= value <= 2100 else "n" if 0 <= value <= 999 else "x"
        return Token(kind, value, text=text)
    for pattern, kind, order in _FORMS:
        if match := pattern.fullmatch(text):
            return _formed(kind, order, [int(part) for part in match.groups() if part], text)
    return _han_date(text)


# Dates in numbers: their form, kind, and the orders in which they may be read.
_FORMS = (
    (re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:t\d+)?"), "d", ("ymd",)),
    (re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d{2})"), "d", ("dmy", "mdy")),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})"), "d", ("dmy",)),
    (re.compile(r"(\d{1,2})/(\d{4})"), "d", ("my",)),
    (re.compile(r"(\d{1,2})/(\d{1,2})"), "b", ("dm", "md")),
    (re.compile(r"(\d{2})\.(\d{2})"), "b", ("dm",)),
    (re.compile(r"(\d{1,2})[-–](\d{1,2})"), "r", ()),
    (re.compile(r"(\d{1,2}):\d{2}(?:[:.]\d+)?(?:am|pm)?"), "C", ()),
    (re.compile(r"(\d{1,2})(?:[:.h]\d{2})?(?:am|pm|h|g|h\d{2})"), "C", ()),
    (re.compile(r"(\d{1,2})-?(?:st|nd|rd|th|го|ого|е|ое)"), "o", ()),
)


def _formed(kind: str, orders: tuple[str, ...], parts: list[int], text: str) -> Token:
    if kind == "r":
        return Token("r", parts[0] * 100 + parts[1], text=text)
    if not orders:
        return Token(kind, parts[0], text=text)
    read = (dict(zip(order, parts, strict=True)) for order in orders)
    dates = tuple(
        dict.fromkeys(Partial(_whole_year(one.get("y")), one.get("m"), one.get("d")) for one in read)
    )
    kept = tuple(
        one for one in dates if one.month and one.month <= 12 and (one.day is None or 0 < one.day < 32)
    )
    return Token(kind, text=text, dates=kept) if kept else _OTHER


def _whole_year(year: int | None) -> int | None:
    return year + 2000 if year is not None and year < 100 else year


_HAN_PARTS = re.compile(r"(?:(\w{4})年)?(?:(\w{1,3})月份?)?(?:(\w{1,3})[日号])?")


def _han_date(text: str) -> Token:
    if re.fullmatch(r".+[点時时](?:\d+分?|半|钟|整)?", text):
        return Token("C", text=text)
    match = _HAN_PARTS.fullmatch(text)
    if match is None or not any(match.groups()):
        return _OTHER
    year, month, day = (_han_number(part) if part else None for part in match.groups())
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return _OTHER
    return Token("d", text=text, dates=(Partial(year, month, day),))


def _han_number(text: str) -> int:
    """The number that Chinese digits say: 十五, 二十一, 廿三, 二〇二三."""
    if text.isascii():
        return int(text)
    plain = text.replace("廿", "二十").replace("零", "〇")
    if "十" in plain:
        tens, _, ones = plain.partition("十")
        return 10 * (_digit(tens) if tens else 1) + (_digit(ones) if ones else 0)
    return int("".join(str(_digit(character)) for character in plain))


def _digit(character: str) -> int:
    return max(_DIGITS.find(character[-1]) - 1, 0)


_VIETNAMESE = re.compile(r"[\u0103\u0111\u01a1\u01b0\u1ea0-\u1ef9]", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"{_VIETNAMESE.pattern}|[\u0400-\u04ff]|\bng[aà]y\b", re.IGNORECASE)
_CHINESE = re.compile(f"[{_HAN}]")


def _joined(found: list[Token], text: str) -> list[Token]:
    """Numbers with their units become one token, and so do "last" and its unit."""
    joined: list[Token] = []
    for token in found:
        if token.kind in "Ug":
            last = joined[-1] if joined else _OTHER
            if (number := _counting(joined)) is not None:
                joined[-1] = Token("Q", number, token.unit or "day", last.text)
                continue
            if last.kind == "S" and token.unit in ("week", "month", "year"):
                joined[-1] = Token("R", last.value, token.unit, last.text)
                continue
        joined.append(token._replace(kind="q") if token.kind == "g" else token)
    return [_read(token, text) if len(token.dates) else token for token in joined]


def _read(token: Token, text: str) -> Token:
    """A date in numbers as the text's language reads it. 20/11 is one; 3/4 may be, in Vietnamese."""
    if token.kind == "b" and "/" in token.text and token.text != "24/7":
        plain = len(token.dates) == 1 and token.dates[0].day != token.dates[0].month
        if plain or _VIETNAMESE.search(text):
            token = token._replace(kind="i")
    if len(token.dates) > 1 and _DAY_FIRST.search(text):
        return token._replace(dates=token.dates[:1])
    return token._replace(dates=token.dates[-1:]) if _CHINESE.search(text) else token


def _counting(joined: list[Token]) -> int | None:
    """The number at the end that counts what follows; năm is year and five."""
    if not joined:
        return None
    last, before = joined[-1], joined[-2] if len(joined) > 1 else _OTHER
    if last.kind in "nNr" and before.kind != "q":
        return last.value % 100 if last.kind == "r" else last.value
    return 5 if last.text in ("năm", "nam") and last.kind == "U" else None
