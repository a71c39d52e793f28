"""Whether two wordings name the same object: "Ангарске" and "Angarsk", "sysadmin" and "system administrator". Pure.

Everything doubtful counts as different: what is kept apart can be joined later, what is merged is lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import Stemmer
from anyascii import anyascii

from keepsake.facts.vocabulary import markers

# Pieces of a blend ("сис" + "админ") have at least so many letters, an acronym at least so many initials.
_BLEND_PIECE = 3
_ACRONYM = 3
# Things in a list have at most so many words: "son of Ana and Bob" is no list.
_LIST_WORDS = 2
_LIST_HAN = 4

_HAN = r"\u3005\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_HAN}]|\d+(?:[.,:/-]\d+)*|[^\W_{_HAN}]+(?:['’-][^\W_{_HAN}]+)*")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_HAN_ONLY = re.compile(rf"[{_HAN}]+")
_VIETNAMESE = re.compile(r"[\u0103\u0111\u01a1\u01b0\u0110\u1ea0-\u1ef9àáâãèéêìíòóôõùúýĩũ]", re.IGNORECASE)
_russian = Stemmer.Stemmer("russian", 0)


@dataclass(frozen=True, slots=True)
class Named:
    """What a claim is about, as words: `said` as they were written, `plain` without case, `stems` without endings."""

    said: tuple[str, ...]
    plain: tuple[str, ...]
    stems: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.plain)


@lru_cache(20_000)
def named(text: str) -> Named:
    """The words of an object, without articles and what else may stand around it."""
    said = tuple(word for word in words(trimmed(text)) if word.casefold() not in markers().empty)
    plain = tuple(plainly(word) for word in said)
    return Named(said, plain, tuple(map(stem, plain)))


def trimmed(text: str) -> str:
    """The object's text without "the city of" before it and "now" after it."""
    text = unicodedata.normalize("NFKC", text).strip(" \t\n.,;:!?\"'«»“”„‘’()。，！？")
    while (match := markers().object_before.match(text)) and match.end() < len(text):
        text = text[match.end() :]
    while (match := markers().object_after.search(text)) and match.start() > 0:
        text = text[: match.start()].rstrip(" ,，")
    return text


def words(text: str) -> list[str]:
    """Words, numbers and single Chinese characters."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def plainly(word: str) -> str:
    """Without case, with `ё` as `е`; a number without its grouping."""
    folded = word.casefold().replace("ё", "е").replace("’", "'")
    return folded.replace(",", "") if _GROUPED.fullmatch(folded) else folded.removesuffix("'s")


def stem(plain: str) -> str:
    """Without the endings of cases and plurals; English words keep all others (Snowball makes "univers" of two)."""
    if _CYRILLIC.search(plain):
        return str(_russian.stemWord(plain))
    if plain.isascii() and len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-3] + "y" if plain.endswith("ies") and len(plain) > 5 else plain[:-1]
    return plain


def same_object(
    one: Named, other: Named, *, exact: bool = False, alike: bool = False, kinds: bool = False
) -> bool:
    """Do both name the same thing?

    `exact`: it is a name, endings count. `alike`: both sentences are built alike, so that another ending is another
    word ("с Александром", "с Александрой"). `kinds`: one of them and many are the same ("likes cats").
    """
    if not one or not other:
        return not one and not other
    if one.plain == other.plain:
        return True
    if not exact and (_endings_only(one, other, alike=alike, kinds=kinds) or _same_list(one, other)):
        return True
    return _same_in_another_script(one, other) or _shortened(one, other) or _shortened(other, one)


def _endings_only(one: Named, other: Named, *, alike: bool, kinds: bool) -> bool:
    if one.stems != other.stems:
        return False
    differing = [
        said
        for said, *plain in zip(zip(one.said, other.said, strict=True), one.plain, other.plain, strict=True)
        if plain[0] != plain[1]
    ]
    names = any(a[0].isupper() and b[0].isupper() for a, b in differing)
    cases = all(_CYRILLIC.search(a) for a, _ in differing)
    return not (alike and names) if kinds else cases and not alike


def _same_list(one: Named, other: Named) -> bool:
    """ "Tea and coffee", "coffee and tea": the same few things in another order."""
    lists = [_items(item.plain) for item in (one, other)]
    short = all(
        len(part) <= (_LIST_HAN if _HAN_ONLY.match(part[0]) else _LIST_WORDS) for part in lists[0] if part
    )
    return len(lists[0]) > 1 and all(lists[0]) and short and sorted(lists[0]) == sorted(lists[1])


def _items(plain: Sequence[str]) -> list[tuple[str, ...]]:
    items: list[list[str]] = [[]]
    for word in plain:
        if word in markers().conjunctions:
            items.append([])
        else:
            items[-1].append(word)
    return [tuple(item) for item in items]


def _same_in_another_script(one: Named, other: Named) -> bool:
    scripts = _script(one.plain), _script(other.plain)
    if scripts[0] != scripts[1]:
        return _sounds(one.stems) == _sounds(other.stems) or _sounds(one.plain) == _sounds(other.plain)
    # Vietnamese typed without its marks; of one syllable alone too many words come together.
    marked = [any(map(_VIETNAMESE.search, item.plain)) for item in (one, other)]
    unmarked = one if not marked[0] else other
    return (
        marked[0] != marked[1]
        and len(one.plain) > 1
        and all(word.isascii() for word in unmarked.plain)
        and tuple(map(without_marks, one.plain)) == tuple(map(without_marks, other.plain))
    )


def without_marks(word: str) -> str:
    """Vietnamese letters as they are typed on a plain keyboard."""
    plain = unicodedata.normalize("NFKD", word.replace("đ", "d"))
    return "".join(char for char in plain if not unicodedata.combining(char))


def _script(parts: Sequence[str]) -> str:
    text = "".join(parts)
    if _HAN_ONLY.search(text):
        return "han"
    return "cyrillic" if _CYRILLIC.search(text) else "latin"


def _sounds(parts: Sequence[str]) -> str:
    return re.sub(r"\W", "", anyascii("".join(parts))).casefold()


def _shortened(short: Named, long: Named) -> bool:
    """Is the one word an acronym of the others ("MSU"), or a blend of their beginnings ("сисадмин")?"""
    if len(short.said) != 1 or len(long.said) < 2:
        return False
    word, initials = short.said[0], "".join(item[0] for item in long.said if item[0].isupper())
    if word.isupper() and len(word) >= _ACRONYM and word == initials:
        return True
    return _blends(short.plain[0], long.plain)


def _blends(word: str, parts: Sequence[str]) -> bool:
    if not parts:
        return not word
    most = min(len(word), len(parts[0]))
    return any(
        _blends(word[size:], parts[1:])
        for size in range(most, _BLEND_PIECE - 1, -1)
        if word[:size] == parts[0][:size]
    )
