"""Where in /facts a button leads: a page, a fact on it, something to do with that fact."""

from __future__ import annotations

from dataclasses import dataclass, replace

_NAME = "facts"
SEARCH = "~"  # before the name of a search that is held in RAM
CORRECT, KEEP = "c", "k"
_DOINGS = ("", CORRECT, KEEP)
_PAGE_DIGITS, _ID_DIGITS = 6, 19  # Python refuses to read thousands of digits


@dataclass(frozen=True, slots=True)
class Place:
    """`only`: "" for all that holds now, a period, or `SEARCH` with a name; `doing`: what is to be done with the fact.

    As the data of a button it has at most 64 bytes.
    """

    user_id: int
    page: int = 1
    only: str = ""
    fact_id: int | None = None
    doing: str = ""

    def data(self) -> str:
        """What a button carries."""
        parts = [_NAME, str(self.user_id), str(self.page), self.only]
        if self.fact_id is not None:
            parts += [str(self.fact_id)] + ([self.doing] if self.doing else [])
        return ":".join(parts)

    def at(self, page: int) -> Place:
        return replace(self, page=page, fact_id=None, doing="")

    def of(self, fact_id: int, doing: str = "") -> Place:
        return replace(self, fact_id=fact_id, doing=doing)

    def back(self) -> Place:
        """The page that the fact stands on."""
        return self.at(self.page)


def parse_place(rest: str) -> Place | None:
    """What the data of a button says behind its handler's name; None for what no button of ours says."""
    parts = rest.split(":")
    if not 3 <= len(parts) <= 5:
        return None
    user, page, only, fact, doing = (*parts, "", "")[:5]
    if (
        not _is_number(page, _PAGE_DIGITS)
        or doing not in _DOINGS
        or not _is_number(user.removeprefix("-"), _ID_DIGITS)
    ):
        return None
    if len(parts) > 3 and not _is_number(fact, _ID_DIGITS):
        return None
    return Place(int(user), int(page), only, int(fact) if fact else None, doing)


def _is_number(text: str, digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= digits
