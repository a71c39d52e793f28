"""Whether a fact stands on what the user said, and whether it is worth keeping. Pure.

The rule: a quote must stand, but for case and spaces, in a user's message; without a quote every number,
name and content word of the object (else of the content) must occur in one user's message. What somebody else said
(a forwarded message, another speaker) grounds only what is about them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from keepsake.facts.candidate import CONTENT_CHARACTERS, Candidate, cut_at_word
from keepsake.facts.sensitive import holds_secret, secrets_in
from keepsake.facts.window import read_text
from keepsake.index.language import guess
from keepsake.models import Message
from keepsake.prompt.block import shown_name

Terms = Callable[[str], Sequence[str]]
"""Content words of a text: folded, stemmed, without stop words; bigrams where a script has no spaces."""

Refusal = Literal[
    "form",
    "short",
    "small_talk",
    "assistant",
    "quote",
    "ungrounded",
    "repeated",
    "too_many",
    "secret",
    "language",
]

MIN_CHARACTERS = 8
MIN_CHARACTERS_CJK = 4

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U000323af]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_MARKS = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")
# How facts speak of the person: words that the person need not have said.
_USER = re.compile(
    r"\b(the users?|users?|пользовател\w*|người dùng|nguoi dung)('s)?\b|用户的?", re.IGNORECASE
)
_NEGATION = re.compile(
    r"\b(not|no|never|none|nothing|without|cannot|\w+n['\u2019]t)\b|\b(не|нет|ни|никогда|ничего|без)\b"
    r"|\b(không|khong|chưa|chẳng|đừng)\b|[不没沒无無未别別]",
    re.IGNORECASE,
)
# Stop words count as terms in a text of nothing else; beside this one they do not.
_ANCHOR = "0"
# An analyser may give no more terms than a long message has.
_ANALYSED_CHARACTERS = 2000
_ASSISTANTS = frozenset(
    {"assistant", "the assistant", "ai assistant", "chatbot", "ассистент", "trợ lý", "助手"}
)
# Not "Assistant manager at a bank".
_ABOUT_ASSISTANT = re.compile(
    r"the assistant |assistant (is|was|can|will|said|says|told|asked|offer|suggest|recommend|help|explain)"
    r"|ассистент (сказал|спросил|предложил|посоветовал|рекоменд|помог|может|объяснил)"
    r"|trợ lý (nói|hỏi|gợi ý|đề xuất|khuyên)|助手(说|问|建议|推荐|可以)"
)
_SMALL_TALK = frozenset(
    line
    for line in (Path(__file__).parent / "small_talk.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
)
_ABOUT_SMALL_TALK = re.compile(
    r"(the )?user (is |was )?(greet|thank|agree|confirm|acknowledg|(say|said|says) (hello|hi|thanks|ok)\b)"
    r"|пользователь (поздоровал|поблагодарил|согласил|подтвердил|попрощал)"
    r"|người dùng (chào|cảm ơn|đồng ý|xác nhận)|用户(打招呼|问好|感谢|表示感谢|同意|确认|道别)"
)


@dataclass(frozen=True, slots=True)
class Folded:
    """A text without case, spaces and variants of signs; `edges` are where a word begins or ends."""

    text: str
    edges: frozenset[int]


def fold(text: str) -> Folded:
    """Folds a text for comparing quotes: NFKC, casefold, no white space, no invisible marks."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold().translate(_MARKS))
    kept: list[str] = []
    edges = {0}
    for char in text:
        if unicodedata.category(char) == "Cf":
            continue
        if char.isspace() or char == "\0":
            edges.add(len(kept))
            continue
        if kept and not (_in_word(kept[-1]) and _in_word(char)):
            edges.add(len(kept))
        kept.append(char)
    edges.add(len(kept))
    return Folded("".join(kept), frozenset(edges))


def stands_in(quote: str, message: Folded) -> bool:
    """Whether the quote stands in the message as whole words: "like cats" not in "dislike cats"."""
    wanted = fold(_without_outer_signs(quote)).text
    at = message.text.find(wanted) if wanted else -1
    while at >= 0:
        if at in message.edges and at + len(wanted) in message.edges:
            return True
        at = message.text.find(wanted, at + 1)
    return False


class Ground:
    """The window that facts must stand on: the user's messages in it, folded once."""

    def __init__(self, window: Iterable[Message], terms: Terms) -> None:
        self._terms = terms
        said = [message for message in window if message.role == "user"]
        self._said = {message.id: read_text(message) for message in said}
        self._others = {message.id: _name(message.sender) for message in said if message.sender}
        self._folded = {id_: fold(content) for id_, content in self._said.items()}
        self._words = {id_: _words(content, terms) for id_, content in self._said.items()}

    def sources(self, candidate: Candidate) -> tuple[int, ...] | Refusal:
        """The messages that the fact comes from, oldest first, or why it is refused.

        The ids that the model gave count where the fact stands at one of them; else where it does stand.
        """
        if candidate.quote is not None and _words(candidate.quote, self._terms):
            found = self._about(
                candidate, (id_ for id_, text in self._folded.items() if stands_in(candidate.quote, text))
            )
            if not found:
                return "quote"
        else:
            # A quote of nothing but "I" or "yes" stands everywhere and says nothing.
            found = self._about(candidate, self._said_in(candidate))
            if not found:
                return "ungrounded"
        given = [id_ for id_ in candidate.message_ids if id_ in self._said]
        return tuple(sorted({*given})) if set(given) & set(found) else (found[-1],)

    def in_own_language(self, candidate: Candidate, sources: Sequence[int]) -> Candidate | None:
        """The candidate in the language of its messages: where it is in another one, in the quoted words.

        None where there are none worth keeping.
        """
        said = [self._said[id_] for id_ in sources]
        if guess(candidate.content) in {guess(text) for text in said}:
            return candidate
        # Latin letters tell little: names, and Vietnamese with and without its marks.
        if _words(candidate.content, self._terms) <= frozenset().union(
            *(self._words[id_] for id_ in sources)
        ):
            return candidate
        if candidate.quote is None:
            return None
        own = replace(candidate, content=cut_at_word(candidate.quote, CONTENT_CHARACTERS))
        return own if junk(own) is None else None

    def gives_away(self, candidate: Candidate) -> bool:
        """Does a password, a key or a card number stand in the candidate?"""
        parts = [part for part in (candidate.content, candidate.quote, candidate.object) if part]
        secrets = frozenset().union(*map(secrets_in, self._said.values()))
        return any(holds_secret(part) or any(secret in part for secret in secrets) for part in parts)

    def _about(self, candidate: Candidate, ids: Iterable[int]) -> list[int]:
        """Those of `ids` that the user said himself, or that somebody else said who is the subject."""
        subject = _name(candidate.subject or "")
        named = bool(subject) and _USER.fullmatch(subject) is None
        return [id_ for id_ in ids if id_ not in self._others or (named and self._others[id_] == subject)]

    def _said_in(self, candidate: Candidate) -> list[int]:
        object_ = _USER.sub(" ", candidate.object or "").strip()
        wanted = _words(object_, self._terms)
        literal = "" if wanted else object_
        if not wanted:
            wanted = _words(_USER.sub(" ", candidate.content), self._terms)
        return [
            id_
            for id_, words in self._words.items()
            if wanted
            and wanted <= words
            # An object may look like a stop word: "cua" is a crab, and "of" without its diacritics.
            and (not literal or stands_in(literal, self._folded[id_]))
            and _negation_fits(candidate.content, self._said[id_])
        ]


def junk(candidate: Candidate, *, vital: bool = False) -> Refusal | None:
    """Why a fact is not worth keeping: too short (vital ones exempt), small talk, about the assistant."""
    content = candidate.content.strip()
    least = MIN_CHARACTERS_CJK if _CJK.search(content) else MIN_CHARACTERS
    if not vital and len(content) < least:
        return "short"
    folded = _plain(content)
    if _plain(candidate.subject or "") in _ASSISTANTS or _ABOUT_ASSISTANT.match(folded):
        return "assistant"
    said = [folded] if candidate.quote is None else [folded, _plain(candidate.quote)]
    if any(text in _SMALL_TALK for text in said) or _ABOUT_SMALL_TALK.match(folded):
        return "small_talk"
    return None


def _name(text: str) -> str:
    return shown_name(text).rstrip("…").casefold()


def _in_word(char: str) -> bool:
    if _CJK.match(char):
        return False
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def _without_outer_signs(quote: str) -> str:
    """Without the quotation marks, dots and ellipses that models set around a quote."""
    return re.sub(r"^[\W_]+|[\W_]+$", "", quote) or quote.strip()


def _words(text: str, terms: Terms) -> frozenset[str]:
    """Content words and numbers of a text."""
    words = set(_NUMBER.findall(unicodedata.normalize("NFKC", text)))
    for piece in _pieces(text):
        words |= set(terms(f"{_ANCHOR} {piece}")) - {_ANCHOR}
    return frozenset(words)


def _negation_fits(content: str, message: str) -> bool:
    """Stop words hold "not": "Not allergic to shrimp" must not stand on "allergic to shrimp"."""
    return _NEGATION.search(content) is None or _NEGATION.search(message) is not None


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of bounded length, cut between words where it has spaces."""
    while len(text) > _ANALYSED_CHARACTERS:
        at = text.rfind(" ", 0, _ANALYSED_CHARACTERS)
        at = at if at > 0 else _ANALYSED_CHARACTERS
        yield text[:at]
        text = text[at:]
    yield text


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_MARKS)
    return " ".join(re.sub(r"[^\w' ]+", " ", folded).split())
