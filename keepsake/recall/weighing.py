"""What speaks for each candidate of one question. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from keepsake.models import Role
from keepsake.recall.neighbours import Neighbours
from keepsake.recall.question import Understood
from keepsake.recall.ranking import Evidence, length_of

_QUESTION_MARKS = ("?", "？")


class Seen(Protocol):
    """What is known of a message that was not read. `size`: in bytes; `end`: its last character."""

    @property
    def id(self) -> int: ...

    @property
    def role(self) -> Role: ...

    @property
    def sender(self) -> str | None: ...

    @property
    def size(self) -> int: ...

    @property
    def end(self) -> str: ...


class Weighing:
    """Turns what the routes found into evidence.

    `words` and `meaning`: shares, 0–1, by id, of hits and of what stands beside them; `hits`: what the routes brought.
    """

    def __init__(
        self,
        asked: Understood,
        neighbours: Neighbours,
        words: Mapping[int, float],
        meaning: Mapping[int, float],
        hits: Iterable[int],
    ) -> None:
        self._asked = asked
        self._neighbours = neighbours
        self._words = words
        self._meaning = meaning
        found = list(hits)
        self._words_of_session = neighbours.session_scores({i: words[i] for i in found if i in words})
        self._meaning_of_session = neighbours.session_scores({i: meaning[i] for i in found if i in meaning})

    def evidence(self, message: Seen) -> Evidence:
        """What speaks for one message."""
        words, meaning, one = self._words, self._meaning, message.id
        beside, near = self._neighbours.beside(one), self._neighbours.near(one)
        session = self._neighbours.session(one)
        return Evidence(
            meaning=meaning.get(one, 0.0),
            words=words.get(one, 0.0),
            meaning_beside=max((meaning.get(next_one, 0.0) for next_one in beside), default=0.0),
            words_beside=max((words.get(next_one, 0.0) for next_one in beside), default=0.0),
            words_near=sum(words.get(next_one, 0.0) for next_one in near) / 2,
            meaning_of_session=self._meaning_of_session.get(session, 0.0),
            words_of_session=self._words_of_session.get(session, 0.0),
            speaker_is_named=message.sender in self._asked.named,
            by_user=message.role == "user",
            length=length_of(message.size),
            asks=message.end in _QUESTION_MARKS,
        )
