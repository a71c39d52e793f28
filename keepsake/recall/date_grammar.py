"""Which spans of time a text names: what the rules found, put together with what stands beside it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from keepsake.recall import spans
from keepsake.recall.date_rules import Item, day_in_week, from_partial, items_of
from keepsake.recall.date_tokens import Token
from keepsake.recall.date_words import PARTS, is_han
from keepsake.recall.spans import Span

_GAP = frozenset("pvqh,")  # what may stand between two words of one date
_PERIODS_MAX = 8


def spans_of(tokens: Sequence[Token], now: datetime) -> list[Span]:
    """The spans that these tokens name, in order, each once. `now`: naive, in the asker's zone."""
    try:
        items = _combined(items_of(tokens, now), tokens, now)
        narrowed = [_narrowed(item, tokens) for item in items]
        return list(dict.fromkeys(_stretched(narrowed, tokens, now)))[:_PERIODS_MAX]
    except (ValueError, OverflowError):  # a year that the calendar does not have
        return []


def _combined(items: list[Item], tokens: Sequence[Token], now: datetime) -> list[Item]:
    """What two neighbours say together: a month and "last year", a weekday and "last week"."""
    found: list[Item] = []
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


def _together(one: Item, other: Item, now: datetime) -> Item | None:
    relative, partial = other.relative, one.partial
    if one.weekday is not None and other.partial and other.partial.day:
        return other  # "Sunday, 7 May"
    if relative is None:
        return None
    if one.weekday is not None and relative.unit == "week":
        return replace(one, span=day_in_week(other.span, one.weekday))
    if partial is None or partial.year is not None:
        return None
    if relative.unit == "year" and partial.month:
        year = now.year + relative.value
        if one.span.grain == "season":
            return replace(one, span=spans.season(year, partial.month))
        span = from_partial(partial._replace(year=year), now)
    elif relative.unit == "month" and partial.day and not partial.month:
        start = other.span.start
        span = spans.date_of(start.year, start.month, partial.day)
    else:
        return None
    return replace(one, span=span) if span else None


def _narrowed(item: Item, tokens: Sequence[Token]) -> Item:
    """A day by a part of it beside, a longer span by "early", "mid" or "late"."""
    if item.span.grain == "day":
        part = _beside(item, tokens, "D")
        return replace(item, span=spans.part_of_day(item.span, PARTS[part.unit])) if part else item
    if item.span.grain in ("month", "year", "week", "season"):
        edge = _edge_of(item, tokens)
        return replace(item, span=spans.third(item.span, edge.value)) if edge else item
    return item


def _beside(item: Item, tokens: Sequence[Token], kind: str) -> Token | None:
    before, after = item.start - 1, item.end
    while before >= 0 and tokens[before].kind in "pvh":
        before -= 1
    while after < len(tokens) and tokens[after].kind in "pvh,":
        after += 1
    found = [tokens[i] for i in (after, before) if 0 <= i < len(tokens) and tokens[i].kind == kind]
    return found[0] if found else None


_NEEDS_OF = frozenset(("start", "end", "beginning"))  # "start in March" is no early March


def _edge_of(item: Item, tokens: Sequence[Token]) -> Token | None:
    before, of = item.start - 1, False
    while before >= 0 and (tokens[before].text in ("of", "the") or tokens[before].kind == ","):
        of = of or tokens[before].text == "of"
        before -= 1
    if before >= 0 and tokens[before].kind == "E" and (of or tokens[before].text not in _NEEDS_OF):
        return tokens[before]
    after = tokens[item.end] if item.end < len(tokens) else None
    return after if after and (after.kind == "O" or (after.kind == "E" and is_han(after.text))) else None


def _stretched(items: list[Item], tokens: Sequence[Token], now: datetime) -> list[Span]:
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


def _range(first: Item, last: Item, tokens: Sequence[Token], now: datetime) -> Span | None:
    """From Monday to Friday, 5月3日到7日; "and" joins only after "between" or "from"."""
    between = [token.kind for token in tokens[first.end : last.start] if token.kind not in "hq,v"]
    if between != ["t"] and not (between == ["&"] and _opener(first, tokens) in ("c", "f")):
        return None
    if first.partial and last.partial and first.partial.month and not last.partial.month:
        last = replace(
            last, span=from_partial(last.partial._replace(month=first.partial.month), now) or last.span
        )
    begun = _first_of(first, last, now)
    return Span(begun.start, last.span.end, begun.grain) if begun else None


def _first_of(first: Item, last: Item, now: datetime) -> Span | None:
    """The span from which one to `last` begins: in that one's year, or the weekday before it."""
    if first.partial and last.partial and first.partial.year is None and last.partial.year is not None:
        span = from_partial(first.partial._replace(year=last.partial.year), now)
    elif first.weekday is not None and last.weekday is not None:
        span = spans.last_weekday(last.span.start, first.weekday)
    else:
        span = first.span
    return span if span and span.start < last.span.start else None


def _opener(item: Item, tokens: Sequence[Token]) -> str:
    before = item.start - 1
    while before >= 0 and tokens[before].kind in "hqv":
        before -= 1
    return tokens[before].kind if before >= 0 else ""


_AFTER = frozenset(("after", "после", "sau"))


def _before(item: Item, tokens: Sequence[Token]) -> tuple[int, Span] | None:
    """Two weeks before 7 May, and the token that says how long."""
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
