"""What the doors are given, checked before anything is opened. Raises ValueError with what is wrong. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from keepsake.store.messages import NewMessage
from keepsake.text import storable

_ID_LIMIT = 2**63  # SQLite's integers end below it


def checked_user(user_id: object) -> int:
    """A user's id as int: from an int or its decimal string. Raises ValueError for anything else."""
    if isinstance(user_id, str):
        text = user_id.strip()
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdigit():
            user_id = int(text)
    if isinstance(user_id, bool) or not isinstance(user_id, int):
        raise ValueError(f"user_id is a whole number or its decimal string, got {type(user_id).__name__}")
    return checked_number("user_id", user_id)


def checked_number(name: str, value: object, *, least: int = -_ID_LIMIT) -> int:
    """A whole number that SQLite can hold. Raises ValueError for another type and for one out of range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is a whole number, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} is too small: the least is {least}")
    if value >= _ID_LIMIT:
        raise ValueError(f"{name} is too large: it has at most 63 bits")
    return value


def checked_text(text: object) -> str:
    """Text with NUL and lone surrogates replaced, as SQLite and JSON need it. Raises ValueError for no str.

    A pair of surrogates, as some JSON brings it, becomes the character that it means.
    """
    if not isinstance(text, str):
        raise ValueError(f"a text is a str, got {type(text).__name__}")
    return storable(text)


def checked_message(
    user_id: object,
    role: object,
    content: object,
    created_at: datetime,
    sender: str | None,
    sender_id: int | str | None,
    key: str | None = None,
) -> NewMessage:
    """A message fit to be stored. Raises ValueError with what is wrong with it."""
    user = checked_user(user_id)
    if role not in ("user", "assistant"):
        raise ValueError(f"role is 'user' or 'assistant', got {role!r}")
    text = checked_content(content)
    checked_time(created_at)
    if isinstance(sender_id, bool) or not isinstance(sender_id, int | str | None):
        raise ValueError(f"sender_id is an int or a str, got {type(sender_id).__name__}")
    return NewMessage(
        user,
        role,
        text,
        created_at,
        checked_text(sender) if sender is not None else None,
        checked_text(str(sender_id)) if sender_id is not None else None,
        key,
    )


def checked_content(content: object) -> str:
    """A message's text as `checked_text` gives it. Raises ValueError for an empty one."""
    text = checked_text(content)
    if not text.strip():
        raise ValueError("content is empty: there is nothing to remember")
    return text


def checked_before(message_id: object) -> None:
    """Raises ValueError for what is neither a message\'s id nor None."""
    if message_id is not None:
        checked_number("before", message_id)


def checked_time(moment: datetime | None) -> None:
    """Raises ValueError for a time without a zone, or one that UTC does not have."""
    if moment is None:
        return
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise ValueError("a time is a datetime with a time zone (say datetime.now(UTC))")
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time lies, in UTC, between the years 1 and 9999") from None
