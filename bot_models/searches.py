"""What was found lately, so that buttons can turn its pages: in RAM, for as many searches as fit."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

MAX_SEARCHES = 1000  # with 50 ids and 48 terms each, about 10 MB


@dataclass(frozen=True, slots=True)
class Search:
    """Whose search it is, the terms it is for, and ids of the messages or facts that were found, in order."""

    user_id: int
    terms: frozenset[str]
    found: tuple[int, ...] = ()


class Searches:
    """Searches by a random name. Where there are more than `most` the least recently looked at leaves."""

    def __init__(self, most: int = MAX_SEARCHES) -> None:
        self._most = most
        self._held: OrderedDict[str, Search] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def begin(self, user_id: int, terms: frozenset[str]) -> str:
        """Holds a search that nothing was found for yet; its name, 8 characters, which none of an earlier run has."""
        name = secrets.token_urlsafe(6)
        self._held[name] = Search(user_id, terms)
        while len(self._held) > self._most:
            self._held.popitem(last=False)
        return name

    def finish(self, name: str, found: Sequence[int]) -> None:
        """What was found; nothing is held where the person was forgotten meanwhile."""
        if name in self._held:
            self._held[name] = replace(self._held[name], found=tuple(found))

    def drop(self, name: str) -> None:
        """It has no pages to turn."""
        self._held.pop(name, None)

    def get(self, name: str) -> Search | None:
        """The search of this name, None where it is not held any more. Counts as use."""
        search = self._held.get(name)
        if search is not None:
            self._held.move_to_end(name)
        return search

    def forget(self, user_id: int) -> None:
        """Drops every search of the user's."""
        for name in [name for name, search in self._held.items() if search.user_id == user_id]:
            del self._held[name]
