"""The time route's questions: which periods a question names, whether it asks when, whether a message says when. Pure.

English, Russian, Vietnamese and Chinese, also mixed. A text becomes tokens of one letter each (`date_tokens`, with the
words of `date_words`), rules are regular expressions over those letters (`date_rules`), and what stands side by side is
put together (`date_grammar`, `spans`). Words are read at the first question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from keepsake.recall.date_grammar import spans_of
from keepsake.recall.date_tokens import TEXT_MAX, kinds_of, tokens


@dataclass(frozen=True, slots=True)
class Period:
    """Half-open; aware, in the zone of the `now` that it was counted from."""

    start: datetime
    end: datetime


def periods(text: str, now: datetime) -> list[Period]:
    """The periods that a question names, in order, at most eight; empty where it names none.

    Weeks begin on Monday; seasons are the north's. What could be two dates (5/7) gives both. A month or day without
    a year is the last one that has begun before `now`, a weekday the last one before today. "Two weeks ago" is one
    week around that moment. Raises ValueError for a naive `now`.
    """
    if now.tzinfo is None:
        raise ValueError("a question's time needs a time zone")
    zone = now.tzinfo
    found = spans_of(tokens(text), now.replace(tzinfo=None))
    return [Period(s.start.replace(tzinfo=zone), s.end.replace(tzinfo=zone)) for s in found]


# Over the kinds of tokens; the short and doubtful ones count only beside what makes them a time.
_TIME = re.compile(
    r"[dCRPVWHMQJKOGi]|[qvcftBSe][wb]|w(?=,?[Rw])|[pvcftBE]m|q[no]p?m|[no]p?m(?!x)|[or]p?m|m[no](?!x)|m[ory]"
    r"|[pvcft]y|Uy|yU|UA|E[ph]{0,2}U|F[,p]?y|ho(?!x)|[no]u|e[UkFD]|S[kFD]|nD|[pvq]h?[DFk]"
)
# Without one of these the pattern above finds nothing.
_TELLING = frozenset("dCRPVWHMQJKOGibwmyUgFDkou")


def carries_time(text: str) -> bool:
    """Does a message name a time: a date, a weekday, a time of day, yesterday, so many days?"""
    found = tokens(text, _TELLING)
    return bool(found) and _TIME.search(kinds_of(found)) is not None


# Question words of time. No library that was found has them; the tables of dateparser hold answers only.
_WHEN = "|".join(
    (
        r"\b(?:what|which)\s+(?:time|date|day|days|month|week|year|hour)\b",
        r"\bhow\s+(?:long|often|recently|many\s+(?:days|weeks|months|years|hours))\b|\bsince\s+when\b",
        r"\b(?:what(?:['’]?s|\s+is|\s+was)?|the)\s+(?:exact\s+)?date\s+(?:of|for|when|did|was|is)\b",
        r"\bво\s+сколько\b|\bв\s?котором\s+часу\b|\bкак\s+(?:давно|долго|часто|скоро)\b|\bс\s+каких\s+пор\b",
        r"\bсколько\s+(?:времени|дней|недель|месяцев|часов)\b",  # not лет, which asks for somebody's age
        r"\bкак(?:ого|ому|ой|ое|им|ом|ая|ую|ие)\s+(?:числ|дат|день|дн[яюеи]|год|месяц|недел|час)\w*",
        r"\b(?:khi|lúc|hôm|ngày|tháng|năm|tuần|bữa|giờ)\s+nào\b(?!\s+cũng)",
        r"\b(?:khi|luc|hom|ngay|thang|nam|tuan|bua|gio)\s+nao\b(?!\s+cung)",
        r"\b(?:ngày|tháng|năm|thứ|hôm)\s+mấy\b|\bmấy\s+(?:giờ|ngày|tuần|tháng|năm)\b|\bngay\s+may\b|\bmay\s+gio\b",
        # "Không bao giờ" is never.
        r"(?<!không )(?<!chưa )(?<!chẳng )(?<!khong )(?<!chua )\bbao\s+(?:giờ|gio)\b|\bbao\s+(?:lâu|lau)\b",
        r"什么时[候间]|啥时候|何时|几[时号点日月年天周]|哪一?个?[天年月日]|多久|多会儿|多长时间|什么日[子期]|多少[天年]",
        r"(?:星期|周|礼拜)几",
    )
)
_PLAIN_WHEN = r"\b(?:when|когда)\b"
_OTHER_QUESTION = (
    r"\b(?:what|who|whom|whose|where|which|why|how|что|кто|кого|кому|где|куда|откуда|почему|зачем"
    r"|как(?:ой|ая|ое|ие|ую|ом|им)?)\b"
)
_AND = r"\b(?:and|or|и|или)\s*$"


def asks_when(text: str) -> bool:
    """Does a question ask for a time: when, what date, how long?

    "When" and "когда" after another question word only join two clauses ("what did she say when I left").
    """
    folded = text[:TEXT_MAX].casefold().replace("ё", "е")
    if _compiled(_WHEN).search(folded):
        return True
    for match in _compiled(_PLAIN_WHEN).finditer(folded):
        before = folded[: match.start()]
        if _compiled(_AND).search(before) or not _compiled(_OTHER_QUESTION).search(before):
            return True
    return False


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """At the first question, since these would slow the start."""
    return re.compile(pattern)
