"""What a question asks for: its words, and the turns before it where it may be vague. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from keepsake.index.terms import analyse, says_something
from keepsake.recall import date_tokens
from keepsake.recall.dates import Period, asks_when, periods

TERMS_MAX = 48  # of one question; a pasted page is searched by its first words
TEXT_MAX = 8_000  # characters of a question that are looked at
# A question of so few words may be vague ("and when?"): the turns just before it then count a little, too. More of
# them drowns short questions that are plain.
VAGUE_TERMS = 2
TURNS = 2
# One part of a name of so few words may stand for all of it; longer ones are titles of channels and groups.
SHORT_NAME_WORDS = 2
CACHED_NAMES = 20_000  # about 8 MB; each question is held against all speakers
_SHORTEST_NAME = 2
_LONGEST_NAME = 256  # characters that are looked at


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for.

    `before`: only messages with a smaller id; `without`: ids that need not be found; `now`: what "yesterday" is counted
    from, aware. None: times that it names do not count.
    """

    user_id: int
    text: str
    history: Sequence[str] = ()
    before: int | None = None
    without: Collection[int] = ()
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Same:
    """Terms that name whom a question names with others: `said` count like `asked` where all of them stand."""

    asked: tuple[str, ...]
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wider:
    """Other names of those whom a question names: `hint` as words for its vector, `same` as terms."""

    hint: str = ""
    same: tuple[Same, ...] = ()

    def of(self, text: str) -> str:
        """The text with these names behind it, as it is embedded."""
        return f"{text} ({self.hint})" if self.hint and text.strip() else text


@dataclass(frozen=True, slots=True)
class Understood:
    """A question taken apart.

    `text`: what is embedded; `terms`: what is looked for by keyword; `earlier` and `earlier_terms`: the turns before
    it, where it may be vague; `named`: the speakers whom it names; `periods`: the times that it names; `asks_when`:
    it asks for a time; `same`: other names of those whom it names.
    """

    text: str
    terms: list[str]
    earlier: list[str]
    earlier_terms: list[str]
    named: frozenset[str]
    periods: Sequence[Period] = ()
    asks_when: bool = False
    same: Sequence[Same] = ()


def understand(question: Question, speakers: Sequence[str], wider: Wider = Wider()) -> Understood:
    """Takes a question apart. `speakers`: names of those who have spoken in this memory.

    A name says who spoke, which is weighed apart: among its words and in its vector it would only draw what mentions
    that person. A long name of which only some words stand there is not meant: they are what is asked about.
    """
    asked = question.text[:TEXT_MAX]
    named = _named(speakers, frozenset(analyse(asked)))
    text = _without_names(asked, named)
    terms = list(dict.fromkeys(analyse(text)))[:TERMS_MAX]
    plain = says_something(text)
    when = periods(asked, question.now) if question.now is not None else []
    if plain and len(terms) > VAGUE_TERMS:
        return Understood(wider.of(text), terms, [], [], named, when, asks_when(asked), wider.same)
    earlier = [turn[:TEXT_MAX] for turn in question.history[-TURNS:] if turn.strip()]
    if earlier and not plain:
        terms = []
    before = dict.fromkeys(term for turn in earlier for term in analyse(turn))
    earlier_terms = [term for term in before if term not in terms][: TERMS_MAX - len(terms)]
    return Understood(
        wider.of(text), terms, earlier, earlier_terms, named, when, asks_when(asked), wider.same
    )


def forget_cached() -> None:
    """Drops the names and words that RAM holds: they may be those of somebody who is erased."""
    _terms_of_name.cache_clear()
    date_tokens.forget_cached()


def _named(speakers: Sequence[str], asked: frozenset[str]) -> frozenset[str]:
    """Those whose name stands whole among the terms `asked`, or a part of a short name that nobody else's has."""
    found: dict[str, frozenset[str]] = {}
    for name in speakers:
        terms = _terms_of_name(name[:_LONGEST_NAME])
        if not terms.isdisjoint(asked):
            found[name] = terms
    bearers = Counter(term for terms in set(found.values()) for term in terms & asked)
    own = {term for term, count in bearers.items() if count == 1 and len(term) >= _SHORTEST_NAME}
    return frozenset(
        name
        for name, terms in found.items()
        if terms <= asked or (len(name.split()) <= SHORT_NAME_WORDS and not own.isdisjoint(terms))
    )


@lru_cache(CACHED_NAMES)
def _terms_of_name(name: str) -> frozenset[str]:
    return frozenset(analyse(name))


def _without_names(text: str, names: Collection[str]) -> str:
    """The text without these names and their parts; as it is where nothing else stands in it."""
    parts = {part for name in names for part in (name, *name.split()) if len(part) >= _SHORTEST_NAME}
    if not parts:
        return text
    pattern = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    left = re.sub(rf"\b(?:{pattern})\b(?:['’]s)?", " ", text, flags=re.IGNORECASE)
    left = " ".join(left.split())
    return left if says_something(left) else text
