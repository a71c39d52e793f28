"""The last line of the ledger as memory.db remembers it. Steps inside a transaction of `Database`.

It says how far the ledger was when memory.db was as it is. Where the ledger does not reach so far, its end was cut
off; where it goes further, memory.db is an older one, put back, and whoever was erased since is in it again.
"""

from __future__ import annotations

import json
import sqlite3

from keepsake.forgetting.ledger import Anchor, Ledger
from keepsake.store import users

_KEY = "ledger"  # in `meta`
_NOTHING = Anchor(0, "")  # there was no line yet


def read(connection: sqlite3.Connection) -> Anchor | None:
    """The line that is remembered; None where none ever was, `seq` 0 where the ledger was empty."""
    stored = users.get_meta(connection, _KEY)
    return Anchor(**json.loads(stored)) if stored else None


def write(connection: sqlite3.Connection, anchor: Anchor | None) -> None:
    """Remembers a line in place of another; None: there is no line yet."""
    found = anchor or _NOTHING
    users.set_meta(connection, _KEY, json.dumps({"seq": found.seq, "sha256": found.sha256}))


def stands(ledger: Ledger, anchor: Anchor | None) -> bool:
    """Is what is remembered in the ledger?"""
    return anchor is None or anchor.seq == 0 or ledger.knows(anchor)


def move(connection: sqlite3.Connection, ledger: Ledger) -> None:
    """Remembers the ledger's present end, unless its end was cut off: that stays to be seen."""
    if stands(ledger, read(connection)):
        write(connection, ledger.end())
