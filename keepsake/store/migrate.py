"""Numbered migrations with a ledger: each file in migrations/ is run once, in order, each in a transaction."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from keepsake.clock import system_clock, to_micros
from keepsake.errors import DatabaseError

APPLICATION_ID = 0x6B656570  # "keep": stands in the file's header, so that a foreign database is known as one


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations that this program knows, oldest first."""
    found = []
    for file in resources.files("keepsake.store").joinpath("migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name)
        if match:
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Raises DatabaseError where the file is no database, another program's, or of a newer keepsake."""
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise DatabaseError(
            f"{path} is not a database that can be read ({error}); move it away or restore a backup"
        ) from error
    if application != APPLICATION_ID and (application or tables):
        raise DatabaseError(f"{path} belongs to another program; set DATA_DIR to another folder")
    newest = migrations()[-1].number
    version = schema_version(connection)
    if version > newest:
        raise DatabaseError(
            f"{path} was made by a newer keepsake (schema {version}, this one knows {newest}); upgrade the program"
        )


def check_current(connection: sqlite3.Connection, path: Path) -> None:
    """Raises DatabaseError where a reader meets an older schema: only the owner of the folder may migrate."""
    version, newest = schema_version(connection), migrations()[-1].number
    if version != newest:
        raise DatabaseError(f"{path} has schema {version}, this program needs {newest}; start the bot once")


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of the last migration that was applied, 0 for an empty file."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def upgrade(connection: sqlite3.Connection, known: Sequence[Migration] | None = None) -> None:
    """Applies what is missing, each migration and its line in the ledger in one transaction.

    `known`: other migrations than this program's, for tests.
    """
    for migration in known or migrations():
        if migration.number > schema_version(connection):
            _apply(connection, migration)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    applied_at = to_micros(system_clock())
    try:
        # executescript commits what is open first, so the script itself carries the transaction.
        connection.executescript(
            "BEGIN IMMEDIATE;\n"
            "CREATE TABLE IF NOT EXISTS migrations (\n"
            "    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;\n"
            f"{migration.sql}\n"
            f"INSERT INTO migrations VALUES ({migration.number}, '{migration.name}', {applied_at});\n"
            f"PRAGMA user_version = {migration.number};\n"
            f"PRAGMA application_id = {APPLICATION_ID};\n"
            "COMMIT;"
        )
    except sqlite3.DatabaseError:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
