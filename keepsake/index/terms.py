"""What is searched by keyword: a text as terms, the same for a message and for a question. Pure.

Terms hold no space; of ASCII punctuation only `_ . - : @`. Made for an FTS5 table with the tokenizer
`ascii tokenchars '_.-:@'`, which leaves them as they are, and for BM25.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from keepsake.index.stopwords import (
    CHINESE,
    CHINESE_PARTICLES,
    ENGLISH,
    RUSSIAN,
    VIETNAMESE,
    VIETNAMESE_PLAIN,
)

MAX_TERM = 64  # characters; a longer word is no word
MAX_TERMS = 200_000  # of one text; 100,000 Chinese characters have so many
CACHED_WORDS = 20_000  # about 5 MB
CACHED_TEXTS = 5_000  # facts and names of topics; about as much

_HAN = r"\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# A run of Han and kana, or a word with what may stand inside a word: snake_case, 3.11, dotted.names, e-mail,
# 3,400.
_TOKEN = re.compile(rf"[{_HAN}]+|[^\W{_HAN}]+(?:[.,:@+'’-][^\W{_HAN}]+)*")
_HAN_START = re.compile(rf"[{_HAN}]")
_PARTS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-zа-яё0-9])(?=[A-ZА-ЯЁ])|(?<=[A-ZА-ЯЁ])(?=[A-ZА-ЯЁ][a-zа-яё])")
_ALPHANUMERIC = re.compile(r"[^\W\d_]+|\d+")
_GROUPED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_CODE = re.compile(r"[_.:@+-]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")

_english = Stemmer.Stemmer("english", 0)
_russian = Stemmer.Stemmer("russian", 0)

_Word = tuple[tuple[str, ...], bool]  # terms, and whether the word is a stop word


def analyse(text: str) -> list[str]:
    """The terms of a text in order, with repetitions (they count for BM25); at most MAX_TERMS.

    Stop words are left out, unless there is nothing else. Words are stemmed (Snowball) by script, Vietnamese
    and other Latin diacritics are folded away, Han runs become characters and pairs of them. A word that is
    made of parts (an identifier, a version, an address) gives itself and its parts.
    """
    terms, stops = _split(text)
    return terms or stops


def places(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where terms stand in a text that is in NFC: start, end (characters), and the terms that stand there.

    A word stands there once with all its terms, each pair and each character of a Han run by itself.
    """
    for match in _TOKEN.finditer(text):
        start, token = match.start(), match[0]
        if not _HAN_START.match(token):
            yield start, match.end(), tuple(analyse(token))
            continue
        for at in range(len(token)):
            for end in (at + 1, at + 2):
                if end <= len(token):
                    yield start + at, start + end, (unicodedata.normalize("NFKC", token[at:end]),)


def says_something(text: str) -> bool:
    """Is there a word in it that is not a stop word?"""
    return bool(_split(text)[0])


@lru_cache(CACHED_TEXTS)
def content_words(text: str) -> frozenset[str]:
    """The different terms of a short text; none where it has nothing but stop words."""
    return frozenset(_split(text)[0])


def forget_cached() -> None:
    """Drops the words that RAM holds: they may be those of somebody who is erased."""
    _word.cache_clear()
    content_words.cache_clear()


def _split(text: str) -> tuple[list[str], list[str]]:
    """Terms of words that mean something, and those of stop words; at most MAX_TERMS of each."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    terms: list[str] = []
    stops: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        found, is_stop = _han(token) if _HAN_START.match(token) else _word(token)
        (stops if is_stop else terms).extend(found)
        if len(terms) >= MAX_TERMS:
            break
    return terms[:MAX_TERMS], stops[:MAX_TERMS]


@lru_cache(CACHED_WORDS)
def _word(token: str) -> _Word:
    folded = token.casefold()
    if folded in VIETNAMESE or folded in RUSSIAN or folded in ENGLISH or folded in VIETNAMESE_PLAIN:
        return (_stem(folded),), True
    if token.isalpha():  # one word, or camelCase
        parts = _CAMEL.split(token) if not (token.islower() or token.isupper()) else [token]
        if len(parts) == 1:
            return _short(_stem(folded)), False
        return _short(_fold(folded), *(_stem(part.casefold()) for part in parts)), False
    if _GROUPED_NUMBER.fullmatch(token):
        return _short(token.replace(",", "")), False
    return _compound(token)


def _compound(token: str) -> _Word:
    """A word with digits or signs in it: itself where it looks like code, and its parts."""
    words = _PARTS.findall(token)
    pieces: list[str] = []
    for word in words:
        parts = [part for camel in _CAMEL.split(word) for part in _ALPHANUMERIC.findall(camel)]
        pieces.extend(_stem(part.casefold()) for part in parts)
        if len(parts) > 1:
            pieces.append(_fold(word.casefold()))
    kept = [piece for piece in pieces if piece not in ENGLISH and piece not in RUSSIAN]
    if not kept:
        return _short(*pieces), True
    whole = _fold(re.sub("[,'’+]", "_", token.casefold()))
    if len(words) > 1 and _CODE.search(token):
        kept.insert(0, whole)
    return _short(*dict.fromkeys(kept)), False


def _han(run: str) -> _Word:
    """Pairs of characters, which are near to words, and single ones, so that one alone is found."""
    if run in CHINESE:
        return (run,), True
    singles = [character for character in run if character not in CHINESE]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    kept = [
        p for p in pairs if p not in CHINESE and not (p[0] in CHINESE_PARTICLES and p[1] in CHINESE_PARTICLES)
    ]
    return ((*kept, *singles), False) if kept or singles else ((run,), True)


def _stem(word: str) -> str:
    """A casefolded word without its ending; the fold comes first, so that "tôm" and "tom" are one."""
    if word.isascii():
        return str(_english.stemWord(word))
    if _CYRILLIC.search(word):
        return str(_russian.stemWord(word.replace("ё", "е")))
    return str(_english.stemWord(_fold(word)))


def _fold(word: str) -> str:
    """Latin letters without diacritics, ё as е; other letters (й) stay what they are."""
    if word.isascii():
        return word
    if _CYRILLIC.search(word):
        return word.replace("ё", "е")
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", plain.replace("đ", "d").replace("ł", "l").replace("ø", "o"))


def _short(*terms: str) -> tuple[str, ...]:
    return tuple(term[:MAX_TERM] for term in terms if term)
