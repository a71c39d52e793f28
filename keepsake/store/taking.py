"""Takes a row out with all rows that refer to it, so that it can be put back as it was.

What refers to what is read from the schema: a table that is added later is taken along by its own reference. Every
function is a step inside a transaction of `Database`.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from keepsake.store import keywords

Row = dict[str, Any]
_KEYWORDS = "keywords"


@dataclass(slots=True)
class Taken:
    """Rows by table, each before the row that it refers to; and values that were set to NULL."""

    rows: list[tuple[str, Row]] = field(default_factory=list)
    emptied: list[tuple[str, Row, str, Any]] = field(default_factory=list)  # table, key, column, value

    def of(self, table: str) -> list[Row]:
        """The rows of one table."""
        return [row for name, row in self.rows if name == table]


class _Link(NamedTuple):
    """`column` of `table` refers to a row of `parent` by its key."""

    table: str
    column: str
    parent: str
    required: bool


def take(connection: sqlite3.Connection, table: str, item: int, taken: Taken) -> None:
    """Takes a row, and what refers to it: other rows, or where it may be NULL, the reference alone."""
    (key,) = _key_columns(connection, table)
    _take_where(connection, table, f"{key} = ?", item, taken, _links(connection))


def take_row(connection: sqlite3.Connection, table: str, condition: str, values: Row, taken: Taken) -> None:
    """Takes rows that nothing refers to. `condition` over `values`, as in SQL."""
    for row in _select(connection, table, condition, values):
        _delete(connection, table, row, taken)


def empty(connection: sqlite3.Connection, table: str, item: int, column: str, taken: Taken) -> None:
    """Sets a value to NULL, and remembers it."""
    (key,) = _key_columns(connection, table)
    for row in _select(connection, table, f"{key} = ? AND {column} IS NOT NULL", (item,)):
        _empty(connection, table, row, column, taken)


def put_back(connection: sqlite3.Connection, taken: Taken) -> None:
    """Puts all back whose place is there: a row that refers to one that has gone for good stays away."""
    links = _links(connection)
    for table, row in reversed(taken.rows):
        if not all(_stands(connection, link, row) for link in links if link.table == table):
            continue
        marks = ", ".join("?" * len(row))
        added = connection.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        ).rowcount
        if table == _KEYWORDS and added:
            connection.execute(
                "INSERT INTO keyword_index (rowid, terms) VALUES (?, ?)", (row["message_id"], row["terms"])
            )
    for table, key, column, value in taken.emptied:
        links_here = [link for link in links if (link.table, link.column) == (table, column)]
        if all(_stands(connection, link, {column: value}) for link in links_here):
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE {_where(key)} AND {column} IS NULL",
                (value, *key.values()),
            )


def _take_where(
    connection: sqlite3.Connection,
    table: str,
    condition: str,
    value: object,
    taken: Taken,
    links: list[_Link],
) -> None:
    for row in _select(connection, table, condition, (value,)):
        keys = _key_columns(connection, table)
        for link in links:
            if link.parent != table or len(keys) != 1:
                continue
            if link.required:
                _take_where(connection, link.table, f"{link.column} = ?", row[keys[0]], taken, links)
            else:
                for other in _select(connection, link.table, f"{link.column} = ?", (row[keys[0]],)):
                    _empty(connection, link.table, other, link.column, taken)
        _delete(connection, table, row, taken)


def _delete(connection: sqlite3.Connection, table: str, row: Row, taken: Taken) -> None:
    if table == _KEYWORDS:
        keywords.unindex(connection, row["message_id"])
    key = _key(connection, table, row)
    connection.execute(f"DELETE FROM {table} WHERE {_where(key)}", tuple(key.values()))
    taken.rows.append((table, row))


def _empty(connection: sqlite3.Connection, table: str, row: Row, column: str, taken: Taken) -> None:
    key = _key(connection, table, row)
    connection.execute(f"UPDATE {table} SET {column} = NULL WHERE {_where(key)}", tuple(key.values()))
    taken.emptied.append((table, key, column, row[column]))


def _select(
    connection: sqlite3.Connection, table: str, condition: str, values: Row | tuple[object, ...]
) -> list[Row]:
    cursor = connection.execute(f"SELECT * FROM {table} WHERE {condition}", values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _stands(connection: sqlite3.Connection, link: _Link, row: Row) -> bool:
    if row[link.column] is None:
        return True
    (key,) = _key_columns(connection, link.parent)
    found = connection.execute(f"SELECT 1 FROM {link.parent} WHERE {key} = ?", (row[link.column],))
    return found.fetchone() is not None


def _links(connection: sqlite3.Connection) -> list[_Link]:
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return [
        _Link(table, row[3], row[2], row[3] in _required(connection, table))
        for table in names
        for row in connection.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    ]


def _required(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[3] or row[5]}


def _key_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]


def _key(connection: sqlite3.Connection, table: str, row: Row) -> Row:
    return {column: row[column] for column in _key_columns(connection, table)}


def _where(key: Row) -> str:
    return " AND ".join(f"{column} = ?" for column in key)
