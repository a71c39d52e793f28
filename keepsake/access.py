"""Who may talk to the bot: the list of the settings, or the owner who claimed it by a one-time code."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from keepsake.settings import Settings

# No letters or digits that are mistaken for each other: people type the code by hand.
_ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
_GROUPS, _GROUP = 3, 4
WRONG_PER_PERSON = 5
WRONG_PER_CODE = 20


def new_code() -> str:
    """A random code such as `7KQM-2WXN-D4TA`: 30^12 possibilities, 58 bits."""
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


class Access:
    """The rule who is let in, and the code by which the first owner claims the bot.

    `ALLOWED_USER_IDS` decides alone where it is set; the owner counts only where it is empty.
    """

    def __init__(
        self, settings: Settings, owner: int | None = None, *, make_code: Callable[[], str] = new_code
    ) -> None:
        self._allowed = settings.allowed_user_ids
        self._admins = frozenset(settings.admin_user_ids)
        self._owner = owner
        self._make_code = make_code
        self._code: str | None = None
        self._announce: Callable[[str], None] | None = None
        self._wrong: dict[int, int] = {}
        self._wrong_in_all = 0

    @property
    def open_to_claim(self) -> bool:
        """Whether a code is out that makes its first sender the owner."""
        return self._code is not None

    def allows(self, user_id: int) -> bool:
        """Whether this person may talk to the bot."""
        if isinstance(self._allowed, str):
            return True
        return user_id in self._allowed if self._allowed else user_id == self._owner

    def is_admin(self, user_id: int) -> bool:
        """Whether this person, who may talk to the bot, also sees its counts."""
        owns = not self._allowed and user_id == self._owner
        return self.allows(user_id) and (owns or user_id in self._admins)

    def offer_code(self, announce: Callable[[str], None]) -> None:
        """Makes a code for `announce` where nobody could get in without one; called once, at the start."""
        self._announce = announce
        if not self._allowed and self._owner is None:
            self._renew()

    def claim(self, user_id: int, text: str) -> bool:
        """Whether `text` is the code; its first sender is the owner from then on and the code is void.

        A single word counts as a try. After 5 wrong ones a person is not heard any more while the code
        lives, after 20 by all people together a new code takes its place.
        """
        words = text.split()
        if self._code is None or len(words) != 1 or self._wrong.get(user_id, 0) >= WRONG_PER_PERSON:
            return False
        if secrets.compare_digest(_normal(words[0]), _normal(self._code)):
            self._owner, self._code = user_id, None
            self._wrong.clear()
            return True
        self._wrong[user_id] = self._wrong.get(user_id, 0) + 1
        self._wrong_in_all += 1
        if self._wrong_in_all >= WRONG_PER_CODE:
            self._renew()
        return False

    def forget(self, user_id: int) -> None:
        """The person was erased: where they owned the bot, whoever sends a new code does from now on."""
        self._wrong.pop(user_id, None)
        if user_id == self._owner:
            self._owner = None
            if self._announce is not None and not self._allowed:
                self._renew()

    def _renew(self) -> None:
        self._code = self._make_code()
        self._wrong.clear()
        self._wrong_in_all = 0
        if self._announce is not None:
            self._announce(self._code)


def _normal(code: str) -> bytes:
    return code.replace("-", "").upper().encode("utf-8", "replace")
