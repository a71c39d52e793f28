"""What a sentence claims: about whom, what, of which object, whether it is denied, past or yet to come. Pure.

A triple that the model gave is believed where the sentence does not say otherwise; without one, a sentence that is
wholly made of a known pattern gives its own (predicates.toml).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from keepsake.facts.objects import Named, named, plainly, stem, trimmed, words
from keepsake.facts.vocabulary import Manner, Predicate, canonical, markers, predicates

USER = "user"

Tense = Literal["present", "past", "future"]

_CONTRACTED = (
    (re.compile(r"\b(I)['’]m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(I)['’]ve\b", re.IGNORECASE), r"\1 have"),
)
_OWNING = re.compile(r"['’]s?\s+")
_SEPARATOR = re.compile(r"[\s,:：—–-]+")
_BROKEN = re.compile(
    r"[;.!?。；！？]|,(?!\d)|，|\b(?:but|но|nhưng|because|потому|vì|if|если|nếu)\b|但|因为", re.IGNORECASE
)
_FILLER = re.compile(
    r"(?:now|currently|still|really|also|теперь|сейчас|ещё|также|hiện(?: nay| tại| đang)?|bây giờ|đang)\s+"
    r"|现在|目前|还|也",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_UNKNOWN = Predicate("")
_SENTENCE_WORDS = 10  # an object of more words is a sentence of its own


class Stated(Protocol):
    """What a claim is read from: a Fact or a FactDraft."""

    @property
    def content(self) -> str: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def predicate(self) -> str | None: ...
    @property
    def object(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Derived:
    """What a sentence about the user says by a known pattern; `pattern` names the one."""

    predicate: str
    object: str
    negated: bool
    tense: Tense
    pattern: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence taken apart. `whole`: the object as the sentence has it, where a pattern explains all of it."""

    subject: str | None
    predicate: str | None
    object: Named
    negated: bool
    tense: Tense
    whole: Named | None
    pattern: str | None
    numbers: frozenset[str]
    names: frozenset[str]
    marks: tuple[bool, bool, bool]
    wording: Named

    @property
    def rules(self) -> Predicate:
        """What holds for its predicate; of an unknown one nothing does."""
        return predicates().get(self.predicate or "", _UNKNOWN)


def subject_of(subject: str | None) -> str | None:
    """`user` for all names of the person themselves; others without case."""
    if subject is None or not subject.strip():
        return None
    folded = " ".join(unicodedata.normalize("NFKC", subject).casefold().split())
    return USER if markers().user.fullmatch(folded) else folded


def kin_in(content: str) -> str | None:
    """Whom of the user's people a sentence begins with, None where it is about the user."""
    match = markers().kin.match(content.strip())
    return match[0] if match else None


def forget_cached() -> None:
    """Takes what was read out of RAM: a person is being erased."""
    for cached in (derive, _claim, named, canonical):
        cached.cache_clear()


@lru_cache(20_000)
def derive(content: str) -> Derived | None:
    """What a sentence says by itself; None where no pattern explains it whole."""
    sentence = _about_user(content)
    if sentence is None:
        return None
    if (found := _match(sentence)) is not None:
        return found
    for before, change in (
        (markers().denied_before, "denied"),
        (markers().past_before, "past"),
        (markers().future_before, "future"),
    ):
        match = before.match(sentence)
        if match is None:
            continue
        rest = sentence[match.end() :]
        rest = markers().denied_after.sub("", rest) if change == "denied" else rest
        if (found := _match(rest)) is None or found.negated:
            continue
        pattern = f"{change} {found.pattern}"
        if change == "denied":
            return Derived(found.predicate, found.object, True, "present", pattern)
        return Derived(found.predicate, found.object, False, change, pattern)  # type: ignore[arg-type]
    return None


def claim(stated: Stated) -> Claim:
    """The claim of a fact or a draft."""
    return _claim(stated.content, stated.subject, stated.predicate, stated.object)


@lru_cache(20_000)
def _claim(content: str, subject: str | None, predicate: str | None, object_: str | None) -> Claim:
    found = derive(content)
    name, denied = canonical(predicate) if predicate else (None, False)
    given = name is not None and bool(object_)
    if found is not None and (not given or name not in predicates()):
        name, denied, object_, subject = found.predicate, found.negated, found.object, subject or USER
        given = True
    same = found if found is not None and found.predicate == name else None
    negated, tense = _manner(content, name if given else None, denied, same)
    named_object = named(object_) if given and object_ else Named((), (), ())
    return Claim(
        subject_of(subject),
        name if given else None,
        named_object,
        negated,
        tense,
        named(same.object) if same else None,
        same.pattern if same else None,
        frozenset(plainly(number) for number in _NUMBER.findall(unicodedata.normalize("NFKC", content))),
        _names(content, named_object),
        _marks(content),
        named(_without_user(content)),
    )


def _manner(content: str, predicate: str | None, denied: bool, same: Derived | None) -> tuple[bool, Tense]:
    if same is not None:
        return same.negated or denied, same.tense
    known = predicates().get(predicate or "")
    negation, past, future = _marks(content)
    negated = denied or (negation and predicate is not None and not (known is not None and known.negative))
    return negated, "future" if future else "past" if past else "present"


def _about_user(content: str) -> str | None:
    """The sentence without its user, None where it is more than one sentence."""
    text = _without_user(content)
    return None if _BROKEN.search(text) else text


def _without_user(content: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", content).split()).strip(" .!。！\"'«»“”")
    for pattern, full in _CONTRACTED:
        text = pattern.sub(full, text)
    match = markers().user.match(text)
    while match is not None and match.end() < len(text):
        rest = text[match.end() :]
        between = _OWNING.match(rest) or _SEPARATOR.match(rest)
        if between is None and not "\u3400" <= match[0][-1] <= "\u9fff":
            break
        text = (rest[between.end() :] if between else rest).removeprefix("的")
        match = markers().user.match(text)
    while (filler := _FILLER.match(text)) is not None:
        text = text[filler.end() :]
    return text


def _match(sentence: str) -> Derived | None:
    for predicate in predicates().values():
        for place, (manner, pattern) in enumerate(predicate.patterns):
            match = pattern.fullmatch(sentence)
            if match is None:
                continue
            object_ = trimmed(match["object"])
            if not object_ or not _is_object(object_, single=predicate.single):
                continue
            return _derived(predicate.name, object_, manner, f"{predicate.name} {place}")
    return None


def _derived(predicate: str, object_: str, manner: Manner, pattern: str) -> Derived:
    return Derived(predicate, object_, manner == "ended", "past" if manner == "past" else "present", pattern)


def _is_object(text: str, *, single: bool) -> bool:
    found = [word.casefold() for word in words(text)]
    joined = any(word in markers().conjunctions for word in found)
    return (
        len(found) <= 2 * _SENTENCE_WORDS and len(text.split()) <= _SENTENCE_WORDS and not (single and joined)
    )


def _marks(content: str) -> tuple[bool, bool, bool]:
    found = markers()
    return tuple(bool(mark.search(content)) for mark in (found.negation, found.past, found.future))  # type: ignore[return-value]


def _names(content: str, object_: Named) -> frozenset[str]:
    """Stems of capitalised words that do not begin the sentence and are not the object's own."""
    capitalised = [word for word in words(content)[1:] if word[0].isupper() and word.casefold() != "i"]
    return frozenset(stem(plainly(word)) for word in capitalised) - frozenset(object_.stems)
