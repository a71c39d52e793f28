"""One file of the archive: messages as Parquet, encrypted by Parquet's own AES-256-GCM. In RAM, nothing is written.

Each file has a key of its own, HMAC-SHA256 of its name under its person's key, so that no key encrypts enough for a
nonce to come twice. The name is authenticated too: a file that was swapped for another one is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import io
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from keepsake.clock import from_micros, to_micros
from keepsake.errors import ArchiveDamaged, ArchiveError
from keepsake.models import Message
from keepsake.store.archive import Held

if TYPE_CHECKING:
    import pyarrow.parquet

ROW_GROUP = 100  # messages that are decrypted at once

_COLUMNS = ("id", "role", "content", "created_at", "session_id", "sender", "sender_id", "key", "terms")
_WHOLE_NUMBERS = ("id", "created_at", "session_id")


NEEDS_EXTRA = "needs the extra `archive`: `make run EXTRAS=archive`"


def available() -> bool:
    """Is pyarrow installed? It is looked for, not loaded."""
    try:
        return find_spec("pyarrow") is not None
    except ImportError:
        return False


def require() -> None:
    """Raises ArchiveError where files can be neither written nor read."""
    if not available():
        raise ArchiveError(f"the archive {NEEDS_EXTRA}")


def pack(batch: Sequence[Held], key: str, name: str) -> bytes:
    """A file with these messages, for this name."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter, encryption

    schema = pyarrow.schema(
        [(one, pyarrow.int64() if one in _WHOLE_NUMBERS else pyarrow.large_string()) for one in _COLUMNS]
    )
    rows = [_row(one) for one in batch]
    table = pyarrow.Table.from_pylist(rows, schema=schema)
    properties = encryption.create_encryption_properties(
        _file_key(key, name), aad_prefix=name.encode(), store_aad_prefix=False
    )
    content = io.BytesIO()
    with ParquetWriter(content, schema, compression="zstd", encryption_properties=properties) as writer:
        writer.write_table(table, row_group_size=ROW_GROUP)
    return content.getvalue()


class ArchiveFile:
    """A file that is read, a row group at a time. Raises ArchiveDamaged where it is not what was written."""

    def __init__(self, content: bytes, key: str, name: str, user_id: int) -> None:
        self._name = name
        self._user_id = user_id
        self._file = self._open(content, key)

    def _open(self, content: bytes, key: str) -> pyarrow.parquet.ParquetFile:
        import pyarrow
        from pyarrow.parquet import ParquetFile, encryption

        properties = encryption.create_decryption_properties(
            _file_key(key, self._name), aad_prefix=self._name.encode()
        )
        try:
            return ParquetFile(pyarrow.BufferReader(content), decryption_properties=properties)
        except (OSError, pyarrow.ArrowException) as error:
            raise ArchiveDamaged(f"{self._name} in the archive cannot be decrypted") from error

    @property
    def groups(self) -> int:
        return int(self._file.num_row_groups)

    def words(self, group: int) -> Iterator[tuple[int, list[str]]]:
        """Id and terms of each message of a row group; its text is not decrypted."""
        for row in self._rows(group, ("id", "terms")):
            yield row["id"], row["terms"].split(" ") if row["terms"] else []

    def held(self, group: int) -> Iterator[Held]:
        """The messages of a row group, whole."""
        for row in self._rows(group, _COLUMNS):
            message = Message(
                row["id"],
                self._user_id,
                row["role"],
                row["content"],
                from_micros(row["created_at"]),
                row["session_id"],
                row["sender"],
                row["sender_id"],
            )
            yield Held(message, row["key"], row["terms"])

    def everything(self) -> list[Held]:
        """All messages of the file."""
        return [one for group in range(self.groups) for one in self.held(group)]

    def ids(self) -> set[int]:
        """The messages it holds. Decrypts all of it, and so finds out whether it is whole."""
        return {one.message.id for one in self.everything()}

    def _rows(self, group: int, columns: Sequence[str]) -> list[dict[str, Any]]:
        import pyarrow

        try:
            rows: list[dict[str, Any]] = self._file.read_row_group(
                group, columns=list(columns), use_threads=False
            ).to_pylist()
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise ArchiveDamaged(f"{self._name} in the archive is damaged") from error
        return rows


def _row(one: Held) -> dict[str, object]:
    message = one.message
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "created_at": to_micros(message.created_at),
        "session_id": message.session_id,
        "sender": message.sender,
        "sender_id": message.sender_id,
        "key": one.key,
        "terms": one.terms,
    }


def _file_key(key: str, name: str) -> bytes:
    return hmac.new(bytes.fromhex(key), name.encode(), hashlib.sha256).digest()
