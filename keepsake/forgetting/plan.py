"""What an erasure has to finish, kept in a file until it has: a kill may come between any two of its steps.

The file holds counts, the random names of vector collections and keyed hashes of what the scan looks for; no
text, and no id but as the ledger's keyed hash in its name.
"""

from __future__ import annotations

import io
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keepsake.forgetting.durable import sync_folder, write_durably
from keepsake.forgetting.needles import Needles

_SECRET_BYTES = 32
_SUBJECT_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """`erasure`: what this run is known by in the ledger. `handles`: the person's vector collections."""

    erasure: str
    counts: dict[str, int]
    handles: tuple[str, ...]
    needles: Needles

    @classmethod
    def make(
        cls, counts: dict[str, int], handles: tuple[str, ...], texts: list[str], vectors: list[bytes]
    ) -> Plan:
        """A new run. Takes seconds for tens of thousands of messages: run it on a thread."""
        needles = Needles.build(secrets.token_bytes(_SECRET_BYTES), texts, vectors)
        return cls(secrets.token_hex(16), counts, handles, needles)

    def extended(
        self, counts: dict[str, int], handles: tuple[str, ...], texts: list[str], vectors: list[bytes]
    ) -> Plan:
        """The same run, when it finds more at its second start."""
        return Plan(
            self.erasure,
            {name: max(count, self.counts.get(name, 0)) for name, count in counts.items()},
            tuple(dict.fromkeys(self.handles + handles)),
            self.needles.joined(Needles.build(self.needles.secret, texts, vectors)),
        )

    def save(self, path: Path) -> None:
        """On the disk when this returns."""
        header = {"erasure": self.erasure, "counts": self.counts, "handles": self.handles}
        content = io.BytesIO()
        np.savez(
            content,
            header=np.frombuffer(json.dumps(header).encode("ascii"), dtype=np.uint8),
            secret=np.frombuffer(self.needles.secret, dtype=np.uint8),
            prefix=self.needles.prefix,
            length=self.needles.length,
            digest=self.needles.digest,
            group=self.needles.group,
        )
        write_durably(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> Plan | None:
        """The run that was interrupted, None where none was."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                header = json.loads(stored["header"].tobytes())
                needles = Needles(
                    stored["secret"].tobytes(),
                    stored["prefix"],
                    stored["length"],
                    stored["digest"],
                    stored["group"],
                )
        except FileNotFoundError:
            return None
        return cls(header["erasure"], header["counts"], tuple(header["handles"]), needles)


def plan_path(data_dir: Path, subject: str) -> Path:
    """Where the plan about a person stands; `subject` is the ledger's name for them."""
    return data_dir / f"erasing-{subject[:_SUBJECT_DIGITS]}.npz"


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    sync_folder(path.parent)
