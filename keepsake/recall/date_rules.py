"""Rules over words of time, the same for all languages: what a few words say, without what stands beside them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keepsake.recall import spans
from keepsake.recall.date_tokens import Partial, Token, kinds_of
from keepsake.recall.date_words import PARTS
from keepsake.recall.spans import Span

# Over the tokens' kinds. What is longer comes first.
_GRAMMAR = re.compile(
    r"(?P<days_month>(?:(?<=[cf])n[t&]|nt)h?[no]p?[Mm](?:,?[pU]*y)?)"
    r"|(?P<day_month>[nor],?p?[Mm](?:,?[pU]*y)?)"
    r"|(?P<month_day>[Mm][hq]{0,2}[nor](?:,?y)?)"
    r"|(?P<month_year>[Mm],?[pU]*y)"
    r"|(?P<written>d|(?<=[qcftBvR])[bi])"
    r"|(?P<month>(?<!e)M|(?<=[pvScBtfE])m|m(?=p?R))"
    r"|(?P<year>(?<=[pvcftBE])y|Uy|yU)"
    r"|(?P<day_of_month>(?<=h)o(?=,|$)|[no]u|q[no](?=,|$|R))"
    r"|(?P<long_ago>QA|UA|AQ|[nN]R)"
    r"|(?P<lately>[SL]Q|LU|[QU]L)"
    r"|(?P<relative>R)"
    r"|(?P<weekday>(?<!e)SW|(?<!e)(?<!eW)W|(?<!e)Sw|(?<=[qvcftB])w|w(?=,?R))"
    r"|(?P<weekday_of_week>J)"
    r"|(?P<part>P|Sh?D)"
    r"|(?P<few_days_ago>V)"
    r"|(?P<season>S[FG]|[FG],?p?h?y|[FG])"
    r"|(?P<weekend>S?L?k|(?<!e)K)"
    r"|(?P<edge>E[ph]{0,2}U|O)"
)


@dataclass(frozen=True, slots=True)
class Item:
    """What one rule found at tokens `start`–`end`: a span, and what it was said with, for what stands beside it."""

    start: int
    end: int
    span: Span
    partial: Partial | None = None
    weekday: int | None = None
    relative: Token | None = None
    whole: bool = False  # a range that has its end already


@dataclass(frozen=True, slots=True)
class _Match:
    tokens: Sequence[Token]
    start: int
    end: int
    now: datetime

    def of(self, kinds: str) -> Token | None:
        """The first token of one of these kinds."""
        return next((token for token in self.tokens[self.start : self.end] if token.kind in kinds), None)

    def at(self, index: int) -> Token | None:
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    def item(self, span: Span | None) -> list[Item]:
        return [Item(self.start, self.end, span)] if span else []


def items_of(tokens: Sequence[Token], now: datetime) -> list[Item]:
    """What the rules find, in order. `now`: naive, in the asker's zone."""
    items: list[Item] = []
    for match in _GRAMMAR.finditer(kinds_of(tokens)):
        rule = match.lastgroup
        assert rule is not None
        try:
            items.extend(_RULES[rule](_Match(tokens, match.start(), match.end(), now)))
        except (ValueError, OverflowError):  # a year that the calendar does not have
            continue
    return items


def from_partial(partial: Partial, now: datetime) -> Span | None:
    """A month or day without a year is the last one that has begun: recall looks back."""
    year, month, day = partial
    if day is not None:
        if month is None:
            return spans.last_day_of_month(now, day)
        return spans.last_day(now, month, day) if year is None else spans.date_of(year, month, day)
    if month is not None:
        return spans.last_month(now, month) if year is None else spans.month_of(year, month)
    return spans.year_of(year) if year is not None else None


def _partial(match: _Match, *readings: Partial) -> list[Item]:
    read = ((partial, from_partial(partial, match.now)) for partial in readings)
    return [Item(match.start, match.end, span, partial=partial) for partial, span in read if span]


def _year(match: _Match) -> list[Item]:
    year = match.of("y")
    assert year is not None
    return _partial(match, Partial(year.value)) if year.value <= match.now.year + 1 else []


def _month(match: _Match) -> list[Item]:
    month = match.of("Mm")
    assert month is not None
    before, after = match.at(match.start - 1), match.at(match.end)
    if month.kind == "m" and not _preposed(match) and not (after and after.unit == "year"):
        return []
    if month.unit == "verb" and before and before.kind == "S" and before.value >= 0:
        return []  # "this may be…"
    return _partial(match, Partial(None, month.value))


def _day_and_month(match: _Match) -> list[Item]:
    month, day, year = match.of("Mm"), match.of("nor"), match.of("y")
    assert month is not None and day is not None
    if year is None and month.unit == "verb" and day.kind == "n" and not _stands_as_date(match):
        return []
    if day.kind == "r":
        return _days(match, month, day, year)
    return _partial(match, Partial(year.value if year else None, month.value, day.value))


def _month_and_day(match: _Match) -> list[Item]:
    first, day = match.tokens[match.start], match.of("nor")
    english = first.text.isascii() and not first.text.startswith("th")
    if day and day.kind != "o" and not (english or match.of("q")):  # "в марте 3 раза": only March
        month = _Match(match.tokens, match.start, match.start + 1, match.now)
        return _month(month) if first.kind == "M" or _preposed(match) else []
    return _day_and_month(match)


def _preposed(match: _Match) -> bool:
    before = match.at(match.start - 1)
    return before is not None and before.kind in "pvScBtfE"


def _stands_as_date(match: _Match) -> bool:
    """Is there a preposition before it or nothing after it, so that "may" and "march" are no verbs?"""
    before, after = match.at(match.start - 1), match.at(match.end)
    return (before is not None and before.kind in "pqvhcftB&") or after is None or after.kind != "x"


def _days(match: _Match, month: Token, days: Token, year: Token | None) -> list[Item]:
    first, last = divmod(days.value, 100)
    start, end = (
        from_partial(Partial(year.value if year else None, month.value, day), match.now)
        for day in (first, last)
    )
    if start is None or end is None or start.start >= end.start:
        return []
    return [Item(match.start, match.end, Span(start.start, end.end, "day"), whole=True)]


def _written(match: _Match) -> list[Item]:
    token = match.tokens[match.start]
    return _partial(match, *token.dates)


_PREPOSITIONS_OF_DAYS = frozenset(("ngày", "ngay", "mùng", "mung", "mồng", "mong"))


def _day_of_month(match: _Match) -> list[Item]:
    preposition, day = match.of("q"), match.of("no")
    assert day is not None
    said = preposition is None or preposition.text in _PREPOSITIONS_OF_DAYS
    return _partial(match, Partial(None, None, day.value)) if said and 1 <= day.value <= 31 else []


_VIETNAMESE_UNITS = frozenset(("tuần", "tuan", "tháng", "thang", "năm", "nam"))
_BEFORE_THE_NUMBER = frozenset(("cách", "cach"))  # cách đây 3 ngày; "trước 3 ngày" is three days ahead


def _long_ago(match: _Match) -> list[Item]:
    amount = match.of("Q") or match.of("R")
    first = match.tokens[match.start]
    if first.kind == "A" and first.text not in _BEFORE_THE_NUMBER:
        return []
    if amount is None:
        unit = match.of("U")
        assert unit is not None
        plural = unit.text.isascii() and unit.text.endswith("s")
        amount = unit._replace(value=0 if plural else 1)
    elif amount.kind == "R":  # "2 tuần trước": number and "last week"
        number = match.of("nN")
        assert number is not None
        if amount.value != -1 or amount.text not in _VIETNAMESE_UNITS:
            return _relative(_Match(match.tokens, match.end - 1, match.end, match.now))
        amount = amount._replace(value=number.value)
    return match.item(spans.ago(match.now, amount.unit, amount.value))


def _lately(match: _Match) -> list[Item]:
    shift, amount = match.of("SL"), match.of("QU")
    assert shift is not None and amount is not None
    after = match.tokens[match.end - 1] is shift
    if (shift.kind == "S" and shift.value != -1) or after != bool(shift.kind == "L" and shift.value):
        return []
    return match.item(spans.lately(match.now, amount.unit, 1 if amount.kind == "U" else amount.value))


def _relative(match: _Match) -> list[Item]:
    token = match.tokens[match.start]
    after, before = match.at(match.end), match.at(match.start - 1)
    if before and before.kind == "h" and after and after.text == "of":
        return []  # "the last week of the course"
    if before and before.kind == "h" and token.text == "last":  # "in the last year"
        return match.item(spans.lately(match.now, token.unit, 1))
    span = spans.offset(match.now, token.unit, token.value)
    return [Item(match.start, match.end, span, relative=token)]


def _weekday(match: _Match) -> list[Item]:
    shift, day = match.of("S"), match.of("Ww")
    assert day is not None
    if shift and shift.value >= 0:
        span = day_in_week(spans.offset(match.now, "week", shift.value), day.value)
    else:
        span = spans.last_weekday(match.now, day.value)
    return [Item(match.start, match.end, span, weekday=day.value)]


def day_in_week(week: Span, weekday: int) -> Span:
    """The day of a week that is so many days after its Monday."""
    return spans.offset(week.start, "day", weekday)


def _weekday_of_week(match: _Match) -> list[Item]:
    days = match.tokens[match.start].value
    return match.item(day_in_week(spans.offset(match.now, "week", 0), days))


def _part(match: _Match) -> list[Item]:
    shift, part = match.of("SP"), match.of("DP")
    assert shift is not None and part is not None
    return match.item(spans.part_of_day(spans.offset(match.now, "day", shift.value), PARTS[part.unit]))


def _few_days_ago(match: _Match) -> list[Item]:
    return match.item(spans.days_ago(match.now))


def _season(match: _Match) -> list[Item]:
    season, year, shift = match.of("FG"), match.of("y"), match.of("S")
    assert season is not None
    if year:
        return match.item(spans.season(year.value, season.value))
    if not (shift or _season_is_meant(match, season)):
        return []
    span = _season_at(match.now, season.value, shift.value if shift else 0)
    return [Item(match.start, match.end, span, partial=Partial(None, season.value))]


def _season_at(now: datetime, month: int, shift: int) -> Span:
    """The last that has ended (−1) or begun (0), or the first that has not begun (1)."""
    found = [spans.season(now.year + years, month) for years in (-2, -1, 0, 1)]
    if shift > 0:
        return next(span for span in found if span.start > now)
    return next(span for span in reversed(found) if (span.end if shift < 0 else span.start) <= now)


def _season_is_meant(match: _Match, season: Token) -> bool:
    beside = match.at(match.start - 1), match.at(match.end)
    relative = any(token is not None and token.kind == "R" for token in beside)
    before = beside[0]
    return relative or season.kind == "G" or (before is not None and before.kind in "pvEh")


def _weekend(match: _Match) -> list[Item]:
    shift, lately, weekend = match.of("S"), match.of("L"), match.of("Kk")
    assert weekend is not None
    if (weekend.kind == "K" and not weekend.unit) or shift or lately:
        weeks = -1 if lately else shift.value if shift else weekend.value
        return match.item(spans.weekend(match.now, weeks))
    before = match.at(match.start - 1)
    if not weekend.unit and (before is None or before.kind not in "pvqhcfB"):
        return []
    return match.item(spans.weekend(match.now, 0 if match.now.weekday() >= 5 else -1))


def _edge(match: _Match) -> list[Item]:
    """Early in the month: of the last one of which that part has begun."""
    edge, unit = match.tokens[match.start], match.of("U")
    named = unit.unit if unit else edge.unit
    beside = match.at(match.start - 1)
    if named not in ("week", "month", "year") or (edge.kind == "O" and beside and beside.kind in "Rd"):
        return []
    thirds = (spans.third(spans.offset(match.now, named, back), edge.value) for back in (0, -1))
    return match.item(next((third for third in thirds if third.start <= match.now), None))


def _days_and_month(match: _Match) -> list[Item]:
    """From 3 to 7 May."""
    first, last = (token for token in match.tokens[match.start : match.end] if token.kind in "no")
    month, year = match.of("Mm"), match.of("y")
    assert month is not None
    return _days(match, month, first._replace(value=first.value * 100 + last.value), year)


def _month_and_year(match: _Match) -> list[Item]:
    month, year = match.of("Mm"), match.of("y")
    assert month is not None and year is not None
    return _partial(match, Partial(year.value, month.value))


_RULES: dict[str, Callable[[_Match], list[Item]]] = {
    "days_month": _days_and_month,
    "day_month": _day_and_month,
    "month_day": _month_and_day,
    "month_year": _month_and_year,
    "written": _written,
    "month": _month,
    "year": _year,
    "day_of_month": _day_of_month,
    "long_ago": _long_ago,
    "lately": _lately,
    "relative": _relative,
    "weekday": _weekday,
    "weekday_of_week": _weekday_of_week,
    "part": _part,
    "few_days_ago": _few_days_ago,
    "season": _season,
    "weekend": _weekend,
    "edge": _edge,
}
