"""Text as SQLite, JSON and Telegram can take it. Pure."""

from __future__ import annotations

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    """The text with U+FFFD for NUL and for lone surrogates; a pair of surrogates becomes the character it means."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", _UNKNOWN)
