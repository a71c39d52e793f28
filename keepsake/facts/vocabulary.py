"""The closed vocabulary of predicates and the words that change a claim: data files, read once. Pure."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

_DATA = Path(__file__).parent / "data"
_FLAGS = re.IGNORECASE
_OBJECT = "(?P<object>.+?)"
_NOT = "not_"
# What stands before a predicate that is denied, as models write it.
_DENYING = re.compile(
    r"(?:no_longer_|not_|does_not_|doesnt_|do_not_|dont_|is_not_|isnt_|never_|stopped_|used_to_"
    r"|больше_не_|не_|không_còn_|không_|不再_?|已不_?|不_?)(?:is_)?(.+)"
)
_FILLING = re.compile(r"(?:user_|is_|has_|currently_|now_)(.+)")

Manner = Literal["says", "ended", "past"]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that is known; see predicates.toml for what each field means."""

    name: str
    single: bool = False
    vital: bool = False
    exact: bool = False
    negative: bool = False
    kinds: bool = False
    opposite: str | None = None
    patterns: tuple[tuple[Manner, re.Pattern[str]], ...] = ()


@dataclass(frozen=True, slots=True)
class Markers:
    """The closed classes of markers.toml, each as one pattern or set."""

    user: re.Pattern[str]
    kin: re.Pattern[str]
    denied_before: re.Pattern[str]
    denied_after: re.Pattern[str]
    past_before: re.Pattern[str]
    future_before: re.Pattern[str]
    negation: re.Pattern[str]
    past: re.Pattern[str]
    future: re.Pattern[str]
    object_before: re.Pattern[str]
    object_after: re.Pattern[str]
    correction: re.Pattern[str]
    correction_opening: re.Pattern[str]
    correction_lead: re.Pattern[str]
    lasting: re.Pattern[str]
    empty: frozenset[str]
    conjunctions: frozenset[str]


@cache
def predicates() -> Mapping[str, Predicate]:
    """All known predicates by their canonical name."""
    return {name: _predicate(name, entry) for name, entry in _read("predicates.toml").items()}


@lru_cache(5_000)
def canonical(name: str) -> tuple[str, bool]:
    """The canonical name of a predicate, and whether it is denied; an unknown one as a folded name of its own."""
    folded = fold_name(name)
    denied = folded.startswith(_NOT)
    folded = folded.removeprefix(_NOT) if denied and folded.removeprefix(_NOT) in _aliases() else folded
    if (found := _find(folded)) is not None:
        return found, denied
    if (match := _DENYING.fullmatch(folded)) is not None:
        return _find(match[1]) or match[1], True
    return folded, False


def stored_name(predicate: str, *, negated: bool) -> str:
    """How a predicate stands in a fact: with `not_` where it is denied."""
    return f"{_NOT}{predicate}" if negated else predicate


def fold_name(name: str) -> str:
    """`Lives in`, `lives-in` and `livesIn` as `lives_in`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", unicodedata.normalize("NFKC", name))
    text = re.sub(r"['’]", "", text.casefold().replace("ё", "е"))
    return re.sub(r"[\W_]+", "_", text).strip("_")


@cache
def markers() -> Markers:
    """The words that change a claim."""
    data: Mapping[str, Sequence[str]] = _read("markers.toml")
    before = {
        name: _one_of(data[name], r"(?:{})(?:\s+|(?<=[\u4e00-\u9fff])|:\s*)")
        for name in ("denied_before", "past_before", "future_before", "object_before")
    }
    after = {
        name: _one_of(data[name], r"(?:\s+|(?=[\u4e00-\u9fff]))(?:{})$")
        for name in ("denied_after", "object_after")
    }
    openings = {name: _one_of(data[name], "(?:{})") for name in ("correction_opening", "correction_lead")}
    anywhere = {name: _one_of(data[name], "(?:{})") for name in ("negation", "past", "future", "correction")}
    return Markers(
        user=_one_of(sorted(data["user"], key=len, reverse=True), r"(?:{})"),
        kin=_one_of(data["kin"], r"(?:{})(?!\w*[a-zа-яё])"),
        lasting=_one_of([*data["remember"], *data["always"], *data["correction"]], "(?:{})"),
        empty=frozenset(data["empty"]),
        conjunctions=frozenset(data["conjunctions"]),
        **before,
        **after,
        **anywhere,
        **openings,
    )


@cache
def _aliases() -> Mapping[str, str]:
    known = {name: name for name in predicates()}
    for name, entry in _read("predicates.toml").items():
        known |= {fold_name(alias): name for alias in entry["aliases"]}
    return known


def _find(folded: str) -> str | None:
    filled = _FILLING.fullmatch(folded)
    return _aliases().get(folded) or (_aliases().get(filled[1]) if filled else None)


def _predicate(name: str, entry: Mapping[str, Any]) -> Predicate:
    manners: tuple[Manner, ...] = ("ended", "past", "says")
    found: list[tuple[Manner, re.Pattern[str]]] = []
    for manner in manners:
        found += [(manner, re.compile(_expression(text), _FLAGS)) for text in entry.get(manner, ())]
    flags = {
        key: entry[key]
        for key in ("single", "vital", "exact", "negative", "kinds", "opposite")
        if key in entry
    }
    return Predicate(name, patterns=tuple(found), **flags)


def _expression(text: str) -> str:
    return text.replace("{}", _OBJECT).replace("{", "(?P<object>").replace("}", ")")


def _one_of(texts: Sequence[str], form: str) -> re.Pattern[str]:
    return re.compile(form.replace("{}", "|".join(texts)), _FLAGS)


@cache
def _read(name: str) -> dict[str, Any]:
    with (_DATA / name).open("rb") as file:
        return tomllib.load(file)
