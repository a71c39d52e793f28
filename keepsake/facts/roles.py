"""What people call those who belong to them: "my girlfriend", and where a message says who that is. Pure.

The words are data (roles.toml). What stands around them decides whose they are: "my sister", "сестра", "bạn gái tôi"
and "我女朋友" are the user's; "his sister", "Tom's wife", "бывшая жена", "bạn gái cũ" and "前女友" are not.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from keepsake.facts.objects import named, same_object

_DATA = Path(__file__).parent / "data" / "roles.toml"
_LANGUAGES = ("en", "ru", "vi", "zh")
_FLAGS = re.IGNORECASE
_READ_CHARACTERS = 8_000  # of one message: the user's own words stand before what is pasted below them
_NAME_WORDS = 4
_AROUND = 80  # characters in which a name, and whose somebody is, stand beside the word

_HAN = "\u3005\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+(?:['’-][^\W_{_HAN}]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")

_RELATED = r"(?:older|younger|elder|little|big|best|dear|new|beloved|twin|oldest|youngest|eldest)\s+"
_RELATED_RU = r"(?:старш|младш|лучш|любим|нов|родн)\w+\s+"
_MINE_BEFORE = re.compile(
    rf"(?:\b(?:my|our)\s+(?:{_RELATED})*"
    r"|\b(?:мо(?:й|я|е|ё|ю|и|его|ей|ему|им|ём|ем|их|ими)|наш\w*|сво\w+|у\s+(?:меня|нас)(?:\s+есть)?)\s+"
    rf"(?:{_RELATED_RU})*"
    r"|(?:我们|我|咱)(?:家)?(?:的)?(?:新|亲|最好的)?)$",
    _FLAGS,
)
_MINE_AFTER = re.compile(r"\s+(?:của\s+)?(?:chúng tôi|tôi|mình|tớ|toi|minh)\b", _FLAGS)
_OTHERS_BEFORE = re.compile(
    r"(?:\b(?:his|her|their|your|whose|ex|former|an?|another|any|no|some|every)\s+"
    rf"(?:{_RELATED})*|['’]s?\s+(?:{_RELATED})*|\bex-"
    r"|\b(?:его|её|ее|их|тво\w+|ваш\w+|чь\w+|чуж\w+|бывш\w+|какая-то|какой-то|без)\s+"
    r"|\bу\s+(?!меня\b|нас\b)\w+\s+(?:есть\s+)?"
    r"|(?:他们?|她们?|你们?|您|谁|别人|人家|前|的|任何))$",
    _FLAGS,
)
_OTHERS_AFTER = re.compile(
    r"\s+(?:cũ\b|của\s+(?!tôi|mình|tớ)|(?:anh|chị|em|cô|ông|bà|nó|họ|bạn|ai)\b)|\s+of\s+(?!mine)", _FLAGS
)
# Between "my girlfriend" and her name; between her name and "my girlfriend".
_LEADS_TO_NAME = re.compile(
    r"(?:['’]s name)?(?:\s*[,:=(—–：，]\s*|\s+-\s+"
    r"|\s+(?:(?:is|who is|whose name is)\s+)?(?:called|named)\s+|\s+is\s+"
    r"|\s+(?:[—–-]\s*)?это\s+|\s+зовут\s+|\s+по\s+(?:имени|кличке)\s+|\s+(?:có\s+)?tên(?:\s+là)?\s+|\s+là\s+"
    r"|(?:的?名字)?(?:名叫|叫做?|是)|\s*)",
    _FLAGS,
)
_IS = re.compile(r"(?:\s+is\s+|\s+là\s+|\s*[—–-]\s*(?:это\s+)?|\s+это\s+|是)$", _FLAGS)
_NO_VERB = re.compile(r"\s+$")  # "Катя моя девушка"
_BESIDE = re.compile(r"\s*[,(，]\s*$")
_BESIDE_ENDS = re.compile(r"\s*(?:[,.;!)，。！]|$)")
_ASKS = re.compile(r"\s*[?？]")


@dataclass(frozen=True, slots=True)
class Role:
    """What somebody is to the user; see roles.toml for what each field means."""

    name: str
    predicate: str
    many: bool
    own: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a text names somebody of the user's by what they are. `word` is as it stands there.

    `start` and `end` are characters, with "my" where that is said (`mine`).
    """

    role: Role
    language: str
    word: str
    start: int
    end: int
    mine: bool


@cache
def roles() -> Mapping[str, Role]:
    """All roles by name."""
    return {
        name: Role(name, entry["predicate"], entry.get("many", False), frozenset(entry["own"]))
        for name, entry in _entries().items()
    }


@lru_cache(20_000)
def mentions(text: str) -> tuple[Mention, ...]:
    """The user's own people that a text names by what they are, in its order."""
    return tuple(_mentions(text[:_READ_CHARACTERS]))


def names_role(text: str, role: Role) -> bool:
    """Does the text name somebody who is this to the user?"""
    return any(mention.role == role for mention in mentions(text))


@lru_cache(20_000)
def name_in(text: str) -> str | None:
    """The name in what a fact calls somebody: "Tom" of "a cat named Tom"; None where it is too long or no name."""
    text = text.strip()
    for _, _, start, end in _found(text):
        if start <= len("a the my "):
            led = _LEADS_TO_NAME.match(text, end)
            text = text[led.end() if led else end :].strip()
        break
    return text if 0 < len(_WORD.findall(text)) <= 2 * _NAME_WORDS else None


@lru_cache(20_000)
def said_of(text: str, name: str) -> tuple[tuple[Mention, str], ...]:
    """Where a text says outright what somebody of this name is to the user, with the name as it is spelled there."""
    found = ((mention, _spelled(text, mention, name)) for mention in mentions(text))
    return tuple((mention, spelled) for mention, spelled in found if spelled is not None)


def forget_cached() -> None:
    """Takes what was read out of RAM: a person is being erased."""
    for cached in (mentions, name_in, said_of):
        cached.cache_clear()


def _mentions(text: str) -> Iterator[Mention]:
    for role, language, start, end in _found(text):
        word, before = text[start:end], text[max(0, start - _AROUND) : start]
        if (mine := _MINE_BEFORE.search(before)) is not None:
            yield Mention(role, language, word, start - (len(before) - mine.start()), end, True)
        elif language == "vi" and (after := _MINE_AFTER.match(text, end)) is not None:
            yield Mention(role, language, word, start, after.end(), True)
        elif (
            language not in role.own
            and _OTHERS_BEFORE.search(before) is None
            and _OTHERS_AFTER.match(text, end) is None
        ):
            yield Mention(role, language, word, start, end, False)


def _found(text: str) -> Iterator[tuple[Role, str, int, int]]:
    """Where any of the words stands: its role and language, start and end."""
    known = _words()
    for match in known.pattern.finditer(text):
        if (han := known.han.get(match[0])) is not None:
            yield *han, match.start(), match.end()
            continue
        for parts, role, language in known.others.get(match[0].casefold(), ()):
            rest = parts.match(text, match.end())
            if rest is not None:
                yield role, language, match.start(), rest.end()
                break


def _spelled(text: str, mention: Mention, name: str) -> str | None:
    led = _LEADS_TO_NAME.match(text, mention.end)
    if led is not None and (found := _first(_after(text, led.end()), name)) is not None:
        return found
    before = text[max(0, mention.start - _AROUND) : mention.start]
    if not mention.mine or _ASKS.match(text, mention.end):
        return None
    joined = _IS.search(before) or (_NO_VERB.search(before) if mention.language == "ru" else None)
    if joined is None and _BESIDE_ENDS.match(text, mention.end):
        joined = _BESIDE.search(before)
    return _first(_before(before[: joined.start()]), name) if joined is not None else None


def _first(spellings: Iterator[str], name: str) -> str | None:
    wanted = named(name)
    return next((one for one in spellings if same_object(named(one), wanted)), None)


def _after(text: str, start: int) -> Iterator[str]:
    """The first word from there, the first two…, as far as nothing but spaces stands between them."""
    at = start
    for _ in range(_NAME_WORDS):
        match = _WORD.match(text, at)
        if match is None:
            return
        yield _POSSESSIVE.sub("", text[start : match.end()])
        at = match.end()
        while at < len(text) and text[at] == " ":
            at += 1


def _before(text: str) -> Iterator[str]:
    """The last word, the last two…"""
    ends = [match.span() for match in _WORD.finditer(text)][-_NAME_WORDS:]
    if not ends or text[ends[-1][1] :].strip(" )\"'»”"):
        return
    for place in range(len(ends) - 1, -1, -1):
        if place + 1 < len(ends) and text[ends[place][1] : ends[place + 1][0]].strip(" "):
            return
        yield text[ends[place][0] : ends[-1][1]]


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    with _DATA.open("rb") as file:
        return tomllib.load(file)


@dataclass(frozen=True, slots=True)
class _Words:
    """All words by what they begin with: Chinese ones whole, of others the first word with what has to follow it."""

    pattern: re.Pattern[str]
    han: Mapping[str, tuple[Role, str]]
    others: Mapping[str, Sequence[tuple[re.Pattern[str], Role, str]]]


@cache
def _words() -> _Words:
    han: dict[str, tuple[Role, str]] = {}
    others: dict[str, list[tuple[re.Pattern[str], Role, str]]] = {}
    forms = [
        (form, roles()[name], language)
        for name, entry in _entries().items()
        for language in _LANGUAGES
        for word in entry[language]
        for form in _forms(word)
    ]
    for form, role, language in sorted(forms, key=lambda one: -len(one[0])):
        if language == "zh":
            han[form] = (role, language)
        else:
            first, *rest = form.split(" ")
            follows = re.compile("".join(rf"\s+{part}(?![\w-])" for part in rest), _FLAGS)
            others.setdefault(first.casefold(), []).append((follows, role, language))
    return _Words(re.compile("|".join([*han, rf"[^\W_{_HAN}][^\W{_HAN}]*(?:-[^\W{_HAN}]+)*"])), han, others)


def _forms(word: str) -> list[str]:
    """The forms that an entry stands for: "жен(а|ы)" is "жена" and "жены"."""
    stem, _, endings = word.partition("(")
    return [stem + ending for ending in endings.rstrip(")").split("|")]
