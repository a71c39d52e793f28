"""The ledger of erasures: one line of JSON each, append-only, each carrying the hash of the one before.

It stands apart from memory.db, so a restored backup does not make it forget who was erased, and holds no
personal data: a person's id stands under HMAC-SHA256, with a key of its own file. A plain hash of a Telegram
id, salted or not, is found by trying all ids. Legal holds and their ends are lines of it too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keepsake.errors import DataDirError
from keepsake.forgetting.durable import append_durably, write_durably

LEDGER_NAME = "erasures.jsonl"
KEY_NAME = "erasures.key"
KEY_IS_OPEN = f"{KEY_NAME} can be read by others"
_KEY_BYTES = 32
_FIRST_PREV = "0" * 64
_ERASE, _HOLD, _RELEASE = "erase", "hold", "release"
# What the lines of each event have besides what all have.
_NEEDED: dict[str, dict[str, type]] = {
    _ERASE: {"erasure": str, "counts": dict, "left": int, "left_in": dict},
    _HOLD: {"reason": str},
    _RELEASE: {"reason": str},
}

NOT_COVERED = (
    "Telegram's own copy of the chat",
    "what the model's provider keeps of its requests",
    "the system journal",
    "backups and exports made before",
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of one erasure. `left`: bytes that the scan still found; `counts`: rows erased, by table.

    `nonce`: random, so that nobody makes up the receipt of an erasure whose numbers they guess.
    """

    seq: int
    at: datetime
    sha256: str
    nonce: str
    counts: dict[str, int]
    left: int
    left_in: dict[str, int]
    not_covered: tuple[str, ...] = NOT_COVERED

    def as_dict(self) -> dict[str, object]:
        return {
            "seq": self.seq,
            "at": self.at.isoformat(),
            "sha256": self.sha256,
            "nonce": self.nonce,
            "counts": self.counts,
            "left": self.left,
            "left_in": self.left_in,
            "not_covered": list(self.not_covered),
        }


@dataclass(frozen=True, slots=True)
class Anchor:
    """One line of the ledger, as others remember it: so they notice where its end was cut off."""

    seq: int
    sha256: str


class Ledger:
    """The ledger of one data folder. Blocking; only the holder of the folder's lock appends."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / LEDGER_NAME
        self._key_path = data_dir / KEY_NAME

    def subject(self, user_id: int) -> str:
        """The name under which a person stands here. Makes the key where there is none."""
        return hmac.new(self._key(), str(user_id).encode("ascii"), hashlib.sha256).hexdigest()

    def derived_key(self, purpose: str) -> bytes:
        """A key for other keyed hashes than this ledger's own. Makes the ledger's where there is none."""
        return hmac.new(self._key(), f"for {purpose}".encode(), hashlib.sha256).digest()

    def installation(self) -> str:
        """A name for this folder, 64 hexadecimal digits that say nothing. Makes the key where there is none."""
        return hmac.new(self._key(), b"installation", hashlib.sha256).hexdigest()

    def append(
        self,
        user_id: int,
        erasure: str,
        counts: dict[str, int],
        left_in: dict[str, int],
        now: datetime,
        unreached: tuple[str, ...] = (),
    ) -> Receipt:
        """Writes the line of an erasure. `erasure`: random, what this run is known by; `unreached`: what stays too."""
        more = {
            "erasure": erasure,
            "counts": counts,
            "left": sum(left_in.values()),
            "left_in": left_in,
            "not_covered": [*NOT_COVERED, *unreached],
        }
        return _receipt(self._append(_ERASE, user_id, more, now))

    def hold(self, user_id: int, reason: str, now: datetime) -> Anchor:
        """From here on the person may not be erased."""
        return _anchor(self._append(_HOLD, user_id, {"reason": reason}, now))

    def release(self, user_id: int, reason: str, now: datetime) -> Anchor:
        """The hold has ended."""
        return _anchor(self._append(_RELEASE, user_id, {"reason": reason}, now))

    def held(self, user_id: int) -> str | None:
        """Why the person may not be erased; None where no hold stands."""
        if not self.path.exists():
            return None
        subject = self.subject(user_id)
        for line in reversed(list(self._lines())):
            if line.get("subject") == subject and line.get("event") in (_HOLD, _RELEASE):
                return str(line["reason"]) if line["event"] == _HOLD else None
        return None

    def find(
        self, user_id: int, *, erasure: str | None = None, since: datetime | None = None
    ) -> Receipt | None:
        """The newest erasure of a person: of this run, or not before `since`."""
        subject = self.subject(user_id)
        for line in reversed(list(self._lines())):
            if line.get("subject") != subject or not _is_erasure(line):
                continue
            if erasure is not None and line.get("erasure") != erasure:
                continue
            receipt = _receipt(line)
            return receipt if since is None or receipt.at >= since else None
        return None

    def erased_after(self, seq: int) -> set[str]:
        """Those (as `subject`) who were erased by lines after that one."""
        return {str(line["subject"]) for line in self._lines() if _is_erasure(line) and _seq(line) > seq}

    def end(self, moment: datetime | None = None) -> Anchor | None:
        """The last line, or the last that is not later than `moment`; None where there is none."""
        lines = [line for line in self._lines() if moment is None or _at(line) <= moment]
        return _anchor(lines[-1]) if lines else None

    def knows(self, anchor: Anchor) -> bool:
        """Does this line stand here?"""
        raw = self._whole_lines()
        line = _parsed(raw[anchor.seq - 1]) if 0 < anchor.seq <= len(raw) else None
        return line is not None and line.get("sha256") == anchor.sha256

    def check(self, anchor: Anchor | None = None) -> list[str]:
        """What is wrong, a line each; empty where the chain is whole. `anchor`: a line that must be in it."""
        try:
            found = self._check_chain()
        except DataDirError as error:
            return [str(error)]
        if anchor is not None and anchor.seq and not self.knows(anchor):
            found.append(f"line {anchor.seq}, which memory.db knows of, is gone: the end was cut off")
        return found + self._check_key()

    def _check_chain(self) -> list[str]:
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
        return found

    def _check_key(self) -> list[str]:
        try:
            mode = self._key_path.stat().st_mode
        except FileNotFoundError:
            if self._whole_lines():
                return [f"{KEY_NAME} is missing: nobody can be found in the ledger any more"]
            return []
        found = [KEY_IS_OPEN] if mode & (stat.S_IRWXG | stat.S_IRWXO) else []
        try:
            self._key()
        except DataDirError as error:
            return [str(error)]
        return found

    def close_key(self) -> bool:
        """Takes the key out of others' sight; False where it was."""
        if not self._check_key() or not self._key_path.exists():
            return False
        self._key_path.chmod(0o600)
        return True

    def fault_of(self, receipt: object) -> str | None:
        """Why a receipt (JSON, as `Receipt.as_dict`) is not one of this ledger's; None where it is."""
        if damaged := self._check_chain():
            return f"the ledger itself is damaged: {damaged[0]}"
        seq = receipt.get("seq") if isinstance(receipt, dict) else None
        raw = self._whole_lines()
        if not isinstance(receipt, dict) or type(seq) is not int or not 0 < seq <= len(raw):
            return "the ledger has no such line"
        line = _parsed(raw[seq - 1])
        if line is None or not _is_erasure(line):
            return "that line of the ledger is no erasure"
        genuine = _receipt(line).as_dict()
        differs = sorted(
            str(name) for name in genuine.keys() | receipt.keys() if genuine.get(name) != receipt.get(name)
        )
        return f"it says otherwise than the ledger: {', '.join(differs)}" if differs else None

    def _append(self, event: str, user_id: int, more: dict[str, object], now: datetime) -> dict[str, object]:
        """Writes one line, on the disk when this returns."""
        raw = self._whole_lines()
        last = _parsed(raw[-1]) if raw else None
        line: dict[str, object] = {
            "seq": len(raw) + 1,
            "at": now.astimezone(UTC).isoformat(),
            "event": event,
            "subject": self.subject(user_id),
            **more,
            "prev": str(last.get("sha256")) if last else _FIRST_PREV,
        }
        line["sha256"] = _sha256(line)
        append_durably(self.path, _canonical(line) + b"\n", sum(map(len, raw)))
        return line

    def _lines(self) -> Iterator[dict[str, object]]:
        """Those lines that can be read."""
        for raw in self._whole_lines():
            line = _parsed(raw)
            if line is not None:
                yield line

    def _whole_lines(self) -> list[bytes]:
        """Lines that end; what a power cut left of an unfinished last one never counted."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DataDirError(
                f"{self.path} cannot be read ({error.strerror}): it has to be a file"
            ) from error
        return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)

    def _key(self) -> bytes:
        try:
            key = bytes.fromhex(self._key_path.read_text(encoding="ascii"))
        except FileNotFoundError:
            if self._whole_lines():
                # With another key nobody would be found in these lines, neither who was erased nor who is held.
                raise DataDirError(
                    f"{self._key_path} is missing, and {LEDGER_NAME} is not: put it back, or move that away too"
                ) from None
            key = secrets.token_bytes(_KEY_BYTES)
            write_durably(self._key_path, key.hex().encode("ascii"))
        except OSError as error:
            raise DataDirError(f"{self._key_path} cannot be read ({error.strerror})") from error
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise DataDirError(f"{self._key_path} is damaged: put it back, or move it and {LEDGER_NAME} away")
        return key


def _canonical(line: dict[str, object]) -> bytes:
    text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")  # what somebody else wrote in may hold half a character


def _sha256(line: dict[str, object]) -> str:
    return hashlib.sha256(_canonical(line)).hexdigest()


def _parsed(raw: bytes) -> dict[str, object] | None:
    """A line with all that its event needs; None for what this program cannot have written."""
    try:
        line = json.loads(raw)
        known = isinstance(line, dict) and _is_whole(line)
    except (ValueError, RecursionError):
        return None
    return line if known else None


def _is_whole(line: dict[str, object]) -> bool:
    event = _event(line)
    if not isinstance(event, str) or event not in _NEEDED:
        return False
    needed = {"seq": int, "at": str, "subject": str, "sha256": str, **_NEEDED[event]}
    if not all(type(line.get(name)) is kind for name, kind in needed.items()):
        return False
    return _at(line).tzinfo is not None and isinstance(line.get("not_covered", []), list)


def _event(line: dict[str, object]) -> object:
    return line.get("event", _ERASE)  # the first lines that were written did not say it


def _is_erasure(line: dict[str, object]) -> bool:
    return _event(line) == _ERASE


def _seq(line: dict[str, object]) -> int:
    return int(str(line["seq"]))


def _at(line: dict[str, object]) -> datetime:
    return datetime.fromisoformat(str(line["at"]))


def _anchor(line: dict[str, object]) -> Anchor:
    return Anchor(_seq(line), str(line["sha256"]))


def _receipt(line: dict[str, object]) -> Receipt:
    counts, left_in, not_covered = line["counts"], line["left_in"], line.get("not_covered", NOT_COVERED)
    assert isinstance(counts, dict)
    assert isinstance(left_in, dict)
    assert isinstance(not_covered, list | tuple)
    return Receipt(
        seq=_seq(line),
        at=_at(line),
        sha256=str(line["sha256"]),
        nonce=str(line["erasure"]),
        counts=counts,
        left=int(str(line["left"])),
        left_in=left_in,
        not_covered=tuple(not_covered),
    )
