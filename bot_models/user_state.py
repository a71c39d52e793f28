"""What lives in RAM for a user: the last lines of the conversation, for as many users as fit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

MAX_MESSAGES = 20
MAX_USERS = 1000
_SPEAKERS = {"user": "User", "assistant": "Assistant"}


@dataclass(slots=True)
class UserState:
    """The conversation as lines "User: …" / "Assistant: …", newest last, at most `max_messages` of them.

    `messages_since_fact_extract` counts the user's messages since facts were last extracted.
    """

    max_messages: int = MAX_MESSAGES
    ai_chat_history: list[str] = field(default_factory=list)
    messages_since_fact_extract: int = 0
    weak_note_shown: bool = False

    def add(self, role: str, content: str) -> None:
        """One more line; the oldest leaves when there are too many. ValueError for another role."""
        if role not in _SPEAKERS:
            raise ValueError(f"role is user or assistant, got {role!r}")
        self.ai_chat_history.append(f"{_SPEAKERS[role]}: {content}")
        del self.ai_chat_history[: -self.max_messages]


@dataclass(slots=True)
class _Entry:
    state: UserState
    loaded: bool = False


class StateManager:
    """States of the users who spoke last. Where there are more than `max_users` the least recent leaves.

    Who left and comes back has an empty state and `is_history_loaded` False, so the history is read again.
    User ids are ints or their decimal strings; anything else is a ValueError.
    """

    def __init__(self, max_users: int = MAX_USERS, max_messages: int = MAX_MESSAGES) -> None:
        if max_users < 1 or max_messages < 1:
            raise ValueError("max_users and max_messages are at least 1")
        self._max_users = max_users
        self._max_messages = max_messages
        self._entries: OrderedDict[int, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get_state(self, user_id: int | str) -> UserState:
        """The user's state, made where there is none. Counts as use."""
        return self._touch(user_id).state

    def is_history_loaded(self, user_id: int | str) -> bool:
        """Whether the history was restored into the state that is held now."""
        entry = self._entries.get(_user_key(user_id))
        return entry is not None and entry.loaded

    def mark_history_loaded(self, user_id: int | str) -> None:
        """Says that the history stands in the state."""
        self._touch(user_id).loaded = True

    def forget(self, user_id: int | str) -> None:
        """Drops all that is held of the user."""
        self._entries.pop(_user_key(user_id), None)

    def _touch(self, user_id: int | str) -> _Entry:
        key = _user_key(user_id)
        if key not in self._entries:
            self._entries[key] = _Entry(UserState(self._max_messages))
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_users:
            self._entries.popitem(last=False)
        return self._entries[key]


def _user_key(user_id: int | str) -> int:
    if isinstance(user_id, int) and not isinstance(user_id, bool):
        return user_id
    if isinstance(user_id, str):
        try:
            return int(user_id)
        except ValueError:
            pass
    raise ValueError(f"a user id is an int or its decimal string, got {type(user_id).__name__}")
