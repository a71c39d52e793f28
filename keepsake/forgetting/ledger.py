"""The ledger of erasures: one line of JSON each, append-only, each carrying the hash of the one before.

It stands apart from memory.db, so a restored backup does not make it forget who was erased, and holds no
personal data: a person's id stands under HMAC-SHA256, with a key of its own file. A plain hash of a Telegram
id, salted or not, is found by trying all ids.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keepsake.errors import DataDirError

LEDGER_NAME = "erasures.jsonl"
KEY_NAME = "erasures.key"
_KEY_BYTES = 32
_FIRST_PREV = "0" * 64

NOT_COVERED = (
    "Telegram's own copy of the chat",
    "what the model's provider keeps of its requests",
    "the system journal",
    "backups and exports made before",
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of one erasure. `left`: bytes that the scan still found; `counts`: rows erased, by table."""

    seq: int
    at: datetime
    sha256: str
    counts: dict[str, int]
    left: int
    left_in: dict[str, int]
    not_covered: tuple[str, ...] = NOT_COVERED

    def as_dict(self) -> dict[str, object]:
        return {
            "seq": self.seq,
            "at": self.at.isoformat(),
            "sha256": self.sha256,
            "counts": self.counts,
            "left": self.left,
            "left_in": self.left_in,
            "not_covered": list(self.not_covered),
        }


class Ledger:
    """The ledger of one data folder. Blocking; only the holder of the folder's lock appends."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / LEDGER_NAME
        self._key_path = data_dir / KEY_NAME

    def subject(self, user_id: int) -> str:
        """The name under which a person stands here. Makes the key where there is none."""
        return hmac.new(self._key(), str(user_id).encode("ascii"), hashlib.sha256).hexdigest()

    def append(
        self, user_id: int, erasure: str, counts: dict[str, int], left_in: dict[str, int], now: datetime
    ) -> Receipt:
        """Writes one line, on the disk when this returns. `erasure`: what this run is known by."""
        lines = self._whole_lines()
        line: dict[str, object] = {
            "seq": len(lines) + 1,
            "at": now.astimezone(UTC).isoformat(),
            "subject": self.subject(user_id),
            "erasure": erasure,
            "counts": counts,
            "left": sum(left_in.values()),
            "left_in": left_in,
            "prev": _line_hash(lines[-1]) if lines else _FIRST_PREV,
        }
        line["sha256"] = _sha256(line)
        _append_durably(self.path, _canonical(line) + b"\n", _length(lines))
        return _receipt(line)

    def find(
        self, user_id: int, *, erasure: str | None = None, since: datetime | None = None
    ) -> Receipt | None:
        """The newest line about a person: of this run, or not before `since`."""
        subject = self.subject(user_id)
        for raw in reversed(self._whole_lines()):
            line = _parsed(raw)
            if line is None or line.get("subject") != subject:
                continue
            if erasure is not None and line.get("erasure") != erasure:
                continue
            receipt = _receipt(line)
            return receipt if since is None or receipt.at >= since else None
        return None

    def check(self) -> list[str]:
        """What is wrong with the chain, a line each; empty where it is whole."""
        found: list[str] = []
        prev = _FIRST_PREV
        for number, raw in enumerate(self._whole_lines(), 1):
            line = _parsed(raw)
            if line is None:
                return [*found, f"line {number} cannot be read"]
            claimed = line.pop("sha256", None)
            if claimed != _sha256(line):
                found.append(f"line {number} was changed")
            if line.get("seq") != number or line.get("prev") != prev:
                found.append(f"line {number} does not follow the one before it")
            prev = str(claimed)
        if self.path.exists() and self.path.stat().st_size and not self._key_path.exists():
            found.append(f"{KEY_NAME} is missing: nobody can be found in the ledger any more")
        return found

    def _whole_lines(self) -> list[bytes]:
        """Lines that end; what a power cut left of an unfinished last one never counted."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)

    def _key(self) -> bytes:
        try:
            key = bytes.fromhex(self._key_path.read_text(encoding="ascii"))
        except FileNotFoundError:
            key = secrets.token_bytes(_KEY_BYTES)
            write_durably(self._key_path, key.hex().encode("ascii"))
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise DataDirError(f"{self._key_path} is damaged: restore it, or move it away for a new one")
        return key


def write_durably(path: Path, content: bytes) -> None:
    """Writes a whole file, for its owner's eyes only: after a power cut it is there whole, or not at all."""
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes new, renamed and removed names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _append_durably(path: Path, line: bytes, whole: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.truncate(whole)
        file.seek(whole)
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _length(lines: list[bytes]) -> int:
    return sum(map(len, lines))


def _canonical(line: dict[str, object]) -> bytes:
    return json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")


def _sha256(line: dict[str, object]) -> str:
    return hashlib.sha256(_canonical(line)).hexdigest()


def _parsed(raw: bytes) -> dict[str, object] | None:
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _line_hash(raw: bytes) -> str:
    line = _parsed(raw)
    return str(line.get("sha256")) if line else _FIRST_PREV


def _receipt(line: dict[str, object]) -> Receipt:
    counts, left_in = line["counts"], line["left_in"]
    assert isinstance(counts, dict)
    assert isinstance(left_in, dict)
    return Receipt(
        seq=int(str(line["seq"])),
        at=datetime.fromisoformat(str(line["at"])),
        sha256=str(line["sha256"]),
        counts=counts,
        left=int(str(line["left"])),
        left_in=left_in,
    )
