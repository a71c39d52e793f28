"""Topics (requirements.md, R5): what a person's facts are about, a title and a hook each. Pure.

A model may have named them; without one a fact's topic is the one that its predicate gives (data/topics.toml), else its
category, and the hook names its most important facts. What is shown is made from the facts that hold, each time: a hook
that says what no fact of its topic says any more is not shown.
"""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median

from keepsake.facts.claims import USER, subject_of
from keepsake.facts.sensitive import holds_secret
from keepsake.facts.vocabulary import canonical, predicates
from keepsake.index.language import guess
from keepsake.models import Fact, Topic, TopicNote

TITLE_CHARACTERS = 60
HOOK_CHARACTERS = 90
SLUG_CHARACTERS = 60
_PIECE_CHARACTERS = 45
_TITLE_WORDS = 7
_PEOPLE = "people"
_NUMBER = re.compile(r"\d+")

# By words a topic has this share of the question's; rare words weigh more.
_WORDS = 0.15
# By meaning it is this near, and so much nearer than the person's facts are on the whole: those of one language are all
# rather near to a question in it.
_MEANING, _NEARER = 0.5, 0.08
_ENOUGH_FACTS = 4  # to tell what "on the whole" is

TermSet = Callable[[str], Collection[str]]
"""The content words of a text (keepsake.index.terms)."""


def topics_of(facts: Sequence[Fact], notes: Mapping[str, TopicNote], terms: TermSet) -> list[Topic]:
    """The topics of the facts that hold, the most important first. `notes`: what a model called them, by slug."""
    members: dict[str, list[Fact]] = {}
    for fact in facts:
        members.setdefault(_slug(fact, notes), []).append(fact)
    found = [_topic(slug, inside, notes.get(slug), terms) for slug, inside in members.items()]
    rank = {slug: _rank(inside) for slug, inside in members.items()}
    return sorted(found, key=lambda topic: rank[topic.slug], reverse=True)


def matching(
    topics: Sequence[Topic],
    facts: Sequence[Fact],
    question: str,
    similarity: Mapping[int, float],
    terms: TermSet,
    *,
    most: int,
) -> list[Topic]:
    """Those that a question is about, best first, at most `most`.

    `similarity`: of facts with the question by id, 0–1, by meaning; empty where that is not known. `terms` of a text
    of stop words alone should be empty.
    """
    by_words = _by_words(topics, facts, question, terms)
    usual = median(similarity.values()) if len(similarity) >= _ENOUGH_FACTS else 0.0
    scores: dict[str, float] = {}
    for topic in topics:
        near = max((similarity.get(one, 0.0) for one in topic.fact_ids), default=0.0)
        meant = near if near >= max(_MEANING, usual + _NEARER) else 0.0
        said = by_words[topic.slug] if by_words[topic.slug] >= _WORDS else 0.0
        if meant or said:
            scores[topic.slug] = meant + said
    about = [topic for topic in topics if topic.slug in scores]
    return sorted(about, key=lambda topic: -scores[topic.slug])[:most]


def shown(topics: Sequence[Topic], about: Sequence[Topic], most: int) -> list[Topic]:
    """Those that stand in a prompt, at most `most`, in the order of `topics`: those in `about`, and the first ones."""
    kept = [topic.slug for topic in [*about, *(one for one in topics if one not in about)][:most]]
    return [topic for topic in topics if topic.slug in kept]


def read_slug(text: str) -> str | None:
    """A slug as it is kept: `Food & Allergies` as `food-allergies`. None for nothing."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "-", folded).strip("-")[:SLUG_CHARACTERS].strip("-") or None


def worthy(topic: TopicNote, facts: Iterable[str], terms: TermSet) -> TopicNote:
    """The topic without a title or a hook that these texts of its facts do not bear.

    A hook says nothing that they do not say. A title is more general; it is short, in their language, and has no
    numbers and secrets of its own.
    """
    texts = list(facts)
    title, hook = topic.title, topic.hook
    if title is not None and not (
        len(title.split()) <= _TITLE_WORDS
        and not holds_secret(title)
        and set(_NUMBER.findall(title)) <= set(_NUMBER.findall(" ".join(texts)))
        and guess(title) in ({guess(text) for text in texts} | {guess(" ".join(texts))})
    ):
        title = None
    if hook is not None and (holds_secret(hook) or not _says_no_more(hook, title, texts, terms)):
        hook = None
    return TopicNote(topic.slug, title, hook)


def hook_of(facts: Iterable[Fact]) -> str:
    """One line that names the most important facts."""
    pieces: dict[str, str] = {}
    room = HOOK_CHARACTERS
    for fact in sorted(facts, key=_weight, reverse=True):
        piece = _piece(fact)
        if piece.casefold() in pieces:
            continue
        if pieces and len(piece) + 2 > room:
            break
        pieces[piece.casefold()] = piece
        room -= len(piece) + 2
    return ", ".join(pieces.values())


def _topic(slug: str, facts: Sequence[Fact], note: TopicNote | None, terms: TermSet) -> Topic:
    named = worthy(note, _texts(facts), terms) if note is not None else TopicNote(slug)
    words = slug if slug in _keys() else Counter(map(_by_rule, facts)).most_common(1)[0][0]
    ids = tuple(fact.id for fact in sorted(facts, key=_weight, reverse=True))
    return Topic(
        slug, named.title, named.hook or hook_of(facts), ids, _keys().get(words, f"category-{words}")
    )


def _slug(fact: Fact, notes: Mapping[str, TopicNote]) -> str:
    return fact.topic if fact.topic is not None and fact.topic in notes else _by_rule(fact)


def _by_rule(fact: Fact) -> str:
    if subject_of(fact.subject) not in (None, USER):
        return _PEOPLE
    name = canonical(fact.predicate)[0] if fact.predicate else None
    return _themes().get(name or "", fact.category)


def _texts(facts: Iterable[Fact]) -> list[str]:
    return [text for fact in facts for text in (fact.content, fact.object, fact.quote) if text]


def _piece(fact: Fact) -> str:
    """The object, where it alone says what is meant; else the sentence, cut."""
    name, denied = canonical(fact.predicate) if fact.predicate else (None, True)
    known = predicates().get(name or "")
    plain = known is not None and not denied and not known.negative and fact.subject == USER
    text = fact.content
    if plain and fact.object and guess(fact.object) == guess(fact.content):
        text = fact.object
    line = " ".join(text.split())
    if len(line) <= _PIECE_CHARACTERS:
        return line
    head = line[: _PIECE_CHARACTERS - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(" ,;:.") + "…"


def _weight(fact: Fact) -> tuple[bool, float, float, int]:
    return fact.vital, round(fact.importance, 1), fact.updated_at.timestamp(), fact.id


def _rank(facts: Sequence[Fact]) -> tuple[bool, float, int, int]:
    best = max(map(_weight, facts))
    return best[0], best[1], len(facts), -min(fact.id for fact in facts)


def _says_no_more(hook: str, title: str | None, texts: Sequence[str], terms: TermSet) -> bool:
    said = frozenset().union(*(terms(text) for text in texts), terms(title) if title else ())
    return frozenset(terms(hook)) <= said


def _by_words(
    topics: Sequence[Topic], facts: Sequence[Fact], question: str, terms: TermSet
) -> dict[str, float]:
    """The share of the question's words that each topic has, 0–1."""
    asked = frozenset(terms(question))
    texts = {fact.id: fact.content for fact in facts}
    held: dict[str, frozenset[str]] = {}
    for topic in topics:
        words = frozenset().union(*(terms(texts[one]) for one in topic.fact_ids if one in texts))
        held[topic.slug] = asked & (words | frozenset(terms(f"{topic.title or ''} {topic.hook}")))
    counts = Counter(word for words in held.values() for word in words)
    weights = {word: _rarity(counts[word], len(topics)) for word in asked}
    whole = sum(weights.values())
    return {
        slug: sum(weights[word] for word in words) / whole if whole else 0.0 for slug, words in held.items()
    }


def _rarity(count: int, topics: int) -> float:
    return math.log1p((topics - count + 0.5) / (count + 0.5))


@cache
def _themes() -> Mapping[str, str]:
    """The topic of each predicate that has one."""
    data = tomllib.loads((Path(__file__).parent / "data" / "topics.toml").read_text("utf-8"))
    return {predicate: theme for theme, names in data.items() for predicate in names}


@cache
def _keys() -> Mapping[str, str]:
    """The text that is the title of each topic made by rule."""
    return {theme: f"topic-{theme}" for theme in _themes().values()}
