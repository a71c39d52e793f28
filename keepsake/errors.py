"""Every error that keepsake raises on purpose.

    KeepsakeError
    ├── SettingError          a setting has a value that cannot be          (exit 2)
    ├── DataDirError          the data folder cannot be read or written     (exit 2)
    │   └── FolderHeld        another program holds it                      (exit 3)
    ├── DatabaseError         memory.db is foreign, newer or damaged        (exit 2)
    │   └── RowDamaged        a row of somebody's has what cannot be; trying again does not help
    ├── ErasureHeld           a legal hold stands: the person may not be erased
    ├── ArchiveError          the archive cannot be read or written now; nothing is lost, it is tried again
    │   ├── ArchiveUnavailable  its place cannot be reached, or is full
    │   ├── ArchiveMissing    a file of it is not there
    │   └── ArchiveDamaged    a file of it is not what was written, or its key is another one
    ├── EmbeddingError        the embedding model cannot be had
    ├── RerankerError         the reranker cannot be had; recall goes on without it
    ├── VectorIndexError      the vector index did not answer; exact search does
    │   └── CollectionLost    one user's part of it is gone and has to be filled anew
    └── ModelError            the chat model gave no answer
        ├── ModelUnavailable  it is down, slow or refuses; `retry` says whether later may help
        │   ├── ContextTooLong  the request is longer than the model can read
        │   └── TokensUsedUp  the user's DAILY_TOKENS are spent
        └── ModelAnswerInvalid  it answered, not in the form asked for
            └── ModelDeclined  it does not want to answer this, or a content filter forbids it

A wrong argument is a ValueError, as everywhere in Python. The text of each error is one line that
says what to do, fit to be shown to the operator; it never carries a key, a token or a message.
"""

from __future__ import annotations

from datetime import datetime


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


class RowDamaged(DatabaseError):
    """A row holds what cannot be. Whatever does not read it goes on."""


class ErasureHeld(KeepsakeError):
    """A legal hold stands against erasing this person."""


class ArchiveError(KeepsakeError):
    """The archive of older messages cannot be used now."""


class ArchiveUnavailable(ArchiveError):
    """The place of the archive cannot be reached, or cannot be written."""


class ArchiveMissing(ArchiveError):
    """A file of the archive is not where it was."""


class ArchiveDamaged(ArchiveError):
    """A file of the archive cannot be decrypted: it is damaged, or its key is another one."""


class EmbeddingError(KeepsakeError):
    """The embedding model is missing, damaged or not what its name says."""

    exit_status = 2


class RerankerError(KeepsakeError):
    """The reranker is missing, damaged or no reranker; recall goes on without it."""


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
    """The model is down, too slow, or refuses the request.

    `retry`: may the same request work later? `retry_after`: not before so many seconds, where that is known.
    """

    def __init__(self, message: str, *, retry: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry = retry
        self.retry_after = retry_after


class TokensUsedUp(ModelUnavailable):
    """The user's tokens of this day are spent: no model is asked for them until `until`, in UTC."""

    def __init__(self, *, limit: int, until: datetime, seconds: float) -> None:
        super().__init__(
            f"a user's {limit} tokens of this day are used up (DAILY_TOKENS)", retry_after=seconds
        )
        self.limit = limit
        self.until = until


class ContextTooLong(ModelUnavailable):
    """The request is too long for `model`.

    `limit`: tokens that its context holds with the answer, `asked`: how many there were, where the endpoint says so.
    """

    def __init__(
        self, message: str, *, model: str, limit: int | None = None, asked: int | None = None
    ) -> None:
        super().__init__(message, retry=False)
        self.model = model
        self.limit = limit
        self.asked = asked


class ModelAnswerInvalid(ModelError):
    """The model answered, but not in the form that was asked for."""


class ModelDeclined(ModelAnswerInvalid):
    """The model declined to answer, or its endpoint's content filter stopped the answer."""
