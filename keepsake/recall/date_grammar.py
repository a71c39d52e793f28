"""Which spans of time a text names: rules over words of time, the same for all languages. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keepsake.recall import spans
from keepsake.recall.date_tokens import Partial, Token
from keepsake.recall.date_words import PARTS, is_han
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
_GAP = frozenset("pvqh,")  # what may stand between two words of one date
_PERIODS_MAX = 8


@dataclass(frozen=True, slots=True)
class _Item:
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

    def item(self, span: Span | None) -> list[_Item]:
        return [_Item(self.start, self.end, span)] if span else []


def spans_of(tokens: Sequence[Token], now: datetime) -> list[Span]:
    """The spans that these tokens name, in order. `now`: naive, in the asker's zone."""
    kinds = "".join(token.kind for token in tokens)
    items: list[_Item] = []
    for match in _GRAMMAR.finditer(kinds):
        rule = match.lastgroup
        assert rule is not None
        try:
            items.extend(_RULES[rule](_Match(tokens, match.start(), match.end(), now)))
        except (ValueError, OverflowError):  # a year that the calendar does not have
            continue
    try:
        narrowed = [_narrowed(item, tokens) for item in _combined(items, tokens, now)]
        return list(dict.fromkeys(_stretched(narrowed, tokens, now)))[:_PERIODS_MAX]
    except (ValueError, OverflowError):
        return []


def _from_partial(partial: Partial, now: datetime) -> Span | None:
    """A month or day without a year is the last one that has begun: recall looks back."""
    year, month, day = partial
    if day is not None:
        if month is None:
            return spans.last_day_of_month(now, day)
        return spans.last_day(now, month, day) if year is None else spans.date_of(year, month, day)
    if month is not None:
        return spans.last_month(now, month) if year is None else spans.month_of(year, month)
    return spans.year_of(year) if year is not None else None


def _partial(match: _Match, *readings: Partial) -> list[_Item]:
    read = ((partial, _from_partial(partial, match.now)) for partial in readings)
    return [_Item(match.start, match.end, span, partial=partial) for partial, span in read if span]


def _year(match: _Match) -> list[_Item]:
    year = match.of("y")
    assert year is not None
    return _partial(match, Partial(year.value)) if year.value <= match.now.year + 1 else []


def _month(match: _Match) -> list[_Item]:
    month = match.of("Mm")
    assert month is not None
    before, after = match.at(match.start - 1), match.at(match.end)
    if month.kind == "m" and not _preposed(match) and not (after and after.unit == "year"):
        return []
    if month.unit == "verb" and before and before.kind == "S" and before.value >= 0:
        return []  # "this may be…"
    return _partial(match, Partial(None, month.value))


def _day_and_month(match: _Match) -> list[_Item]:
    month, day, year = match.of("Mm"), match.of("nor"), match.of("y")
    assert month is not None and day is not None
    if year is None and month.unit == "verb" and day.kind == "n" and not _stands_as_date(match):
        return []
    if day.kind == "r":
        return _days(match, month, day, year)
    return _partial(match, Partial(year.value if year else None, month.value, day.value))


def _month_and_day(match: _Match) -> list[_Item]:
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


def _days(match: _Match, month: Token, days: Token, year: Token | None) -> list[_Item]:
    first, last = divmod(days.value, 100)
    start, end = (
        _from_partial(Partial(year.value if year else None, month.value, day), match.now)
        for day in (first, last)
    )
    if start is None or end is None or start.start >= end.start:
        return []
    return [_Item(match.start, match.end, Span(start.start, end.end, "day"), whole=True)]


def _written(match: _Match) -> list[_Item]:
    token = match.tokens[match.start]
    return _partial(match, *token.dates)


_PREPOSITIONS_OF_DAYS = frozenset(("ngày", "ngay", "mùng", "mung", "mồng", "mong"))


def _day_of_month(match: _Match) -> list[_Item]:
    preposition, day = match.of("q"), match.of("no")
    assert day is not None
    said = preposition is None or preposition.text in _PREPOSITIONS_OF_DAYS
    return _partial(match, Partial(None, None, day.value)) if said and 1 <= day.value <= 31 else []


_BEFORE_THE_NUMBER = frozenset(("cách", "cach"))  # cách đây 3 ngày; "trước 3 ngày" is three days ahead


def _long_ago(match: _Match) -> list[_Item]:
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
        if amount.value != -1 or amount.text.isascii() == (amount.text not in ("tuan", "thang", "nam")):
            relative = _Match(match.tokens, match.end - 1, match.end, match.now)
            return _relative(relative)
        amount = amount._replace(value=number.value)
    return match.item(spans.ago(match.now, amount.unit, amount.value))


def _lately(match: _Match) -> list[_Item]:
    shift, amount = match.of("SL"), match.of("QU")
    assert shift is not None and amount is not None
    after = match.tokens[match.end - 1] is shift
    if (shift.kind == "S" and shift.value != -1) or after != bool(shift.kind == "L" and shift.value):
        return []
    return match.item(spans.lately(match.now, amount.unit, 1 if amount.kind == "U" else amount.value))


def _relative(match: _Match) -> list[_Item]:
    token = match.tokens[match.start]
    after, before = match.at(match.end), match.at(match.start - 1)
    if before and before.kind == "h" and after and after.text == "of":
        return []  # "the last week of the course"
    if before and before.kind == "h" and token.text == "last":  # "in the last year"
        return match.item(spans.lately(match.now, token.unit, 1))
    span = spans.offset(match.now, token.unit, token.value)
    return [_Item(match.start, match.end, span, relative=token)]


def _weekday(match: _Match) -> list[_Item]:
    shift, day = match.of("S"), match.of("Ww")
    assert day is not None
    if shift and shift.value >= 0:
        span = spans.day_of((spans.offset(match.now, "week", shift.value).start).date())
        span = _day_in_week(span, day.value)
    else:
        span = spans.last_weekday(match.now, day.value)
    return [_Item(match.start, match.end, span, weekday=day.value)]


def _day_in_week(week: Span, weekday: int) -> Span:
    return spans.offset(week.start, "day", weekday)


def _weekday_of_week(match: _Match) -> list[_Item]:
    days = match.tokens[match.start].value
    return match.item(_day_in_week(spans.offset(match.now, "week", 0), days))


def _part(match: _Match) -> list[_Item]:
    shift, part = match.of("SP"), match.of("DP")
    assert shift is not None and part is not None
    return match.item(spans.part_of_day(spans.offset(match.now, "day", shift.value), PARTS[part.unit]))


def _few_days_ago(match: _Match) -> list[_Item]:
    return match.item(spans.days_ago(match.now))


def _season(match: _Match) -> list[_Item]:
    season, year, shift = match.of("FG"), match.of("y"), match.of("S")
    assert season is not None
    if year:
        return match.item(spans.season(year.value, season.value))
    if not (shift or _season_is_meant(match, season)):
        return []
    found = spans.season(match.now.year, season.value)
    if shift and shift.value > 0:
        ahead = 0 if found.start > match.now else 1
        return match.item(spans.season(match.now.year + ahead, season.value))
    ended = shift is not None and shift.value < 0
    back = 1 if found.start > match.now or (ended and found.end > match.now) else 0
    span = spans.season(match.now.year - back, season.value)
    if ended and span.end > match.now:
        span = spans.season(match.now.year - back - 1, season.value)
    return [_Item(match.start, match.end, span, partial=Partial(None, season.value))]


def _season_is_meant(match: _Match, season: Token) -> bool:
    beside = match.at(match.start - 1), match.at(match.end)
    relative = any(token is not None and token.kind == "R" for token in beside)
    before = beside[0]
    return relative or season.kind == "G" or (before is not None and before.kind in "pvEh")


def _weekend(match: _Match) -> list[_Item]:
    shift, lately, weekend = match.of("S"), match.of("L"), match.of("Kk")
    assert weekend is not None
    if (weekend.kind == "K" and not weekend.unit) or shift or lately:
        weeks = -1 if lately else shift.value if shift else weekend.value
        return match.item(spans.weekend(match.now, weeks))
    before = match.at(match.start - 1)
    if not weekend.unit and (before is None or before.kind not in "pvqhcfB"):
        return []
    return match.item(spans.weekend(match.now, 0 if match.now.weekday() >= 5 else -1))


def _edge(match: _Match) -> list[_Item]:
    """ "Early in the month": of the last one of which that part has begun."""
    edge, unit = match.tokens[match.start], match.of("U")
    named = unit.unit if unit else edge.unit
    beside = match.at(match.start - 1)
    if named not in ("week", "month", "year") or (edge.kind == "O" and beside and beside.kind in "Rd"):
        return []
    spans_ = (spans.third(spans.offset(match.now, named, back), edge.value) for back in (0, -1))
    return match.item(next((span for span in spans_ if span.start <= match.now), None))


def _days_and_month(match: _Match) -> list[_Item]:
    """ "From 3 to 7 May"."""
    first, last = (token for token in match.tokens[match.start : match.end] if token.kind in "no")
    month, year = match.of("Mm"), match.of("y")
    assert month is not None
    return _days(match, month, first._replace(value=first.value * 100 + last.value), year)


def _month_and_year(match: _Match) -> list[_Item]:
    month, year = match.of("Mm"), match.of("y")
    assert month is not None and year is not None
    return _partial(match, Partial(year.value, month.value))


_RULES: dict[str, Callable[[_Match], list[_Item]]] = {
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


def _combined(items: list[_Item], tokens: Sequence[Token], now: datetime) -> list[_Item]:
    """What two neighbours say together: a month and "last year", a weekday and "last week"."""
    found: list[_Item] = []
    for item in items:
        before = found[-1] if found else None
        if before and all(token.kind in _GAP for token in tokens[before.end : item.start]):
            together = _together(before, item, now) or _together(item, before, now)
            if together:
                found[-1] = replace(
                    together, start=min(before.start, item.start), end=max(before.end, item.end)
                )
                continue
        found.append(item)
    return found


def _together(one: _Item, other: _Item, now: datetime) -> _Item | None:
    relative, partial = other.relative, one.partial
    if one.weekday is not None and other.partial and other.partial.day:
        return other  # "Sunday, 7 May"
    if relative is None:
        return None
    if one.weekday is not None and relative.unit == "week":
        return replace(one, span=_day_in_week(other.span, one.weekday))
    if partial is None or partial.year is not None:
        return None
    if relative.unit == "year" and partial.month:
        year = now.year + relative.value
        if one.span.grain == "season":
            return replace(one, span=spans.season(year, partial.month))
        span = _from_partial(partial._replace(year=year), now)
    elif relative.unit == "month" and partial.day and not partial.month:
        start = other.span.start
        span = spans.date_of(start.year, start.month, partial.day)
    else:
        return None
    return replace(one, span=span) if span else None


def _narrowed(item: _Item, tokens: Sequence[Token]) -> _Item:
    """A day by a part of it beside, a longer span by "early", "mid" or "late"."""
    if item.span.grain == "day":
        part = _beside(item, tokens, "D")
        return replace(item, span=spans.part_of_day(item.span, PARTS[part.unit])) if part else item
    if item.span.grain in ("month", "year", "week", "season"):
        edge = _edge_of(item, tokens)
        return replace(item, span=spans.third(item.span, edge.value)) if edge else item
    return item


def _beside(item: _Item, tokens: Sequence[Token], kind: str) -> Token | None:
    before, after = item.start - 1, item.end
    while before >= 0 and tokens[before].kind in "pvh":
        before -= 1
    while after < len(tokens) and tokens[after].kind in "pvh,":
        after += 1
    found = [tokens[i] for i in (after, before) if 0 <= i < len(tokens) and tokens[i].kind == kind]
    return found[0] if found else None


_NEEDS_OF = frozenset(("start", "end", "beginning"))  # "start in March" is no early March


def _edge_of(item: _Item, tokens: Sequence[Token]) -> Token | None:
    before, of = item.start - 1, False
    while before >= 0 and (tokens[before].text in ("of", "the") or tokens[before].kind == ","):
        of = of or tokens[before].text == "of"
        before -= 1
    if before >= 0 and tokens[before].kind == "E" and (of or tokens[before].text not in _NEEDS_OF):
        return tokens[before]
    after = tokens[item.end] if item.end < len(tokens) else None
    return after if after and (after.kind == "O" or (after.kind == "E" and is_han(after.text))) else None


def _stretched(items: list[_Item], tokens: Sequence[Token], now: datetime) -> list[Span]:
    """Spans from one to another, since one, or before one."""
    found: list[tuple[int, Span]] = []  # with the token at which it ends
    for index, item in enumerate(items):
        opener = _opener(item, tokens)
        before = items[index - 1] if index else None
        if before and (joined := _range(before, item, tokens, now)) and found:
            found[-1] = (item.end, joined)
        elif opener == "c" and not item.whole and item.span.start < now:
            found.append((item.end, Span(item.span.start, now, item.span.grain)))
        elif bounded := _before(item, tokens):
            at, span = bounded
            if found and found[-1][0] == at + 1:  # "last week before 7 May" is not last week
                found.pop()
            found.append((item.end, span))
        else:
            found.append((item.end, item.span))
    return [span for _, span in found]


def _range(first: _Item, last: _Item, tokens: Sequence[Token], now: datetime) -> Span | None:
    """ "From Monday to Friday", "5月3日到7日"; "and" joins only after "between" or "from"."""
    between = [token.kind for token in tokens[first.end : last.start] if token.kind not in "hq,v"]
    if between != ["t"] and not (between == ["&"] and _opener(first, tokens) in ("c", "f")):
        return None
    if first.partial and last.partial and first.partial.month and not last.partial.month:
        last = replace(
            last, span=_from_partial(last.partial._replace(month=first.partial.month), now) or last.span
        )
    begun = _first_of(first, last, now)
    return Span(begun.start, last.span.end, begun.grain) if begun else None


def _first_of(first: _Item, last: _Item, now: datetime) -> Span | None:
    """The span from which one to `last` begins: in that one's year, or the weekday before it."""
    if first.partial and last.partial and first.partial.year is None and last.partial.year is not None:
        span = _from_partial(first.partial._replace(year=last.partial.year), now)
    elif first.weekday is not None and last.weekday is not None:
        span = spans.last_weekday(last.span.start, first.weekday)
    else:
        span = first.span
    return span if span and span.start < last.span.start else None


def _opener(item: _Item, tokens: Sequence[Token]) -> str:
    before = item.start - 1
    while before >= 0 and tokens[before].kind in "hqv":
        before -= 1
    return tokens[before].kind if before >= 0 else ""


_AFTER = frozenset(("after", "после", "sau"))


def _before(item: _Item, tokens: Sequence[Token]) -> tuple[int, Span] | None:
    """ "Two weeks before 7 May", and the token that says how long."""
    at = item.start - 1
    while at >= 0 and tokens[at].kind in "hq":
        at -= 1
    if at < 1 or tokens[at].kind not in "Bt" or tokens[at].text in _AFTER or item.span.grain != "day":
        return None
    amount = tokens[at - 1]
    if amount.kind in "Kk":
        return at - 1, spans.before(item.span, "week", 1)
    if amount.kind not in "QUR" or (amount.kind == "R" and amount.value != -1):
        return None
    return at - 1, spans.before(item.span, amount.unit, amount.value if amount.kind == "Q" else 1)
