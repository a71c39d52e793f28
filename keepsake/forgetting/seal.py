"""Is something what a user has had forgotten? Compared by keyed hashes, of which memory.db holds no more.

The key is derived from the ledger's (`erasures.key`), which stands beside memory.db and which backups leave out:
whoever has a copy of memory.db cannot try out whether a guess was forgotten. It is found beside the database that is
open, so whoever writes facts comes by it without being handed a key.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from keepsake.facts.marks import claim_marks, slot_mark, telling_words
from keepsake.forgetting.ledger import Ledger
from keepsake.index.terms import analyse
from keepsake.models import Fact, FactDraft, Message
from keepsake.store import tombstones

_DIGEST_BYTES = 16


class Seal:
    """The tombstones of one user. A step inside a transaction of `Database`, for that transaction only."""

    def __init__(self, connection: sqlite3.Connection, user_id: int) -> None:
        self._connection = connection
        self._user_id = user_id
        self._known: bytes | None = None

    @property
    def empty(self) -> bool:
        """Has the user had nothing forgotten?"""
        return not tombstones.exist(self._connection, self._user_id)

    def add(self, fact: Fact, message_ids: Iterable[int], now: int) -> int:
        """A tombstone for what a fact says. `message_ids`: the messages that tell it."""
        slot = slot_mark(fact)
        return tombstones.add(
            self._connection,
            self._user_id,
            {
                "claim": self._digests(claim_marks(fact)),
                "slot": self._digests([slot] if slot else []),
                "word": self._digests(words_of(fact)),
            },
            message_ids,
            now,
        )

    def against(self, stated: Fact | FactDraft) -> set[int]:
        """The tombstones that forbid this: it says the same, or comes from the same messages in other words."""
        if self.empty:
            return set()
        found = self._marked("claim", claim_marks(stated))
        slot = slot_mark(stated)
        if slot is not None and stated.message_ids:
            drawn_from = set(stated.message_ids)
            found |= {
                one
                for one in self._marked("slot", [slot])
                if drawn_from <= tombstones.sources(self._connection, self._user_id, one)
            }
        return found

    def lift(self, stated: FactDraft) -> None:
        """The user says it again by hand: it may be learned."""
        tombstones.lift(self._connection, self._user_id, self.against(stated))

    def untold(self, messages: Iterable[Message]) -> list[Message]:
        """Those of the messages that tell nothing forgotten: what a summary may be made of."""
        if self.empty:
            return list(messages)
        telling = tombstones.sources(self._connection, self._user_id)
        sets = tombstones.word_sets(self._connection, self._user_id)
        return [
            message for message in messages if message.id not in telling and not self._tells(message, sets)
        ]

    def _tells(self, message: Message, sets: list[set[bytes]]) -> bool:
        words = self._digests(set(analyse(message.content)))
        return any(wanted <= words for wanted in sets)

    def _marked(self, kind: tombstones.MarkKind, marks: Iterable[str]) -> set[int]:
        return tombstones.marked(self._connection, self._user_id, kind, self._digests(marks))

    def _digests(self, texts: Iterable[str]) -> set[bytes]:
        key = self._key()
        return {hmac.new(key, text.encode(), hashlib.sha256).digest()[:_DIGEST_BYTES] for text in texts}

    def _key(self) -> bytes:
        if self._known is None:
            (path,) = [row[2] for row in self._connection.execute("PRAGMA database_list") if row[1] == "main"]
            self._known = Ledger(Path(path).parent).derived_key(f"what {self._user_id} had forgotten")
        return self._known


def words_of(fact: Fact) -> set[str]:
    """The terms that a message which tells a fact holds."""
    return telling_words(fact.object, fact.quote, fact.content, analyse)
