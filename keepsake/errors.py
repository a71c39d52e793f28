"""Every error that keepsake raises on purpose.

    KeepsakeError
    ├── SettingError          a setting has a value that cannot be          (exit 2)
    ├── DataDirError          the data folder cannot be read or written     (exit 2)
    │   └── FolderHeld        another program holds it                      (exit 3)
    ├── DatabaseError         memory.db is foreign, newer or damaged        (exit 2)
    ├── ErasureHeld           a legal hold stands: the person may not be erased
    ├── EmbeddingError        the embedding model cannot be had
    ├── VectorIndexError      the vector index did not answer; exact search does
    │   └── CollectionLost    one user's part of it is gone and has to be filled anew
    └── ModelError            the chat model gave no answer
        ├── ModelUnavailable  it is down, slow or refuses; `retry` says whether later may help
        └── ModelAnswerInvalid  it answered, not in the form asked for

A wrong argument is a ValueError, as everywhere in Python. The text of each error is one line that
says what to do, fit to be shown to the operator; it never carries a key, a token or a message.
"""

from __future__ import annotations


class KeepsakeError(Exception):
    """The root of the tree. `exit_status` is what bot.py ends with."""

    exit_status = 1


class SettingError(KeepsakeError):
    """A setting has a value that cannot be."""

    exit_status = 2


class DataDirError(KeepsakeError):
    """The data folder cannot be read or written."""

    exit_status = 2


class FolderHeld(DataDirError):
    """Another program holds the data folder."""

    exit_status = 3


class DatabaseError(KeepsakeError):
    """memory.db is not ours, is newer than this program, or is damaged."""

    exit_status = 2


class ErasureHeld(KeepsakeError):
    """A legal hold stands against erasing this person."""


class EmbeddingError(KeepsakeError):
    """The embedding model is missing, damaged or not what its name says."""

    exit_status = 2


class VectorIndexError(KeepsakeError):
    """The vector index failed or is not there; exact search answers instead."""


class CollectionLost(VectorIndexError):
    """The collection `handle` is not in the vector index (any more): its vectors must be put in anew."""

    def __init__(self, handle: str) -> None:
        super().__init__(
            "a user's vectors are not in the vector index; they are put in anew in the background"
        )
        self.handle = handle


class ModelError(KeepsakeError):
    """The chat model gave no usable answer."""


class ModelUnavailable(ModelError):
    """The model is down, too slow, or refuses the request. `retry`: may the same request work later?"""

    def __init__(self, message: str, *, retry: bool = True) -> None:
        super().__init__(message)
        self.retry = retry


class ModelAnswerInvalid(ModelError):
    """The model answered, but not in the form that was asked for."""
