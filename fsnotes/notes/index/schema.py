"""What the index file holds, and by what it is known to be ours: another, older or strange file is no index.

- `notes`: the words of each note by column, in FTS5 without the text itself. The text comes first: the first column of
  FTS5 costs a few bytes less for each word. Ids are never used again.
- `docs`: one row for each note, under the same id. *held* is JSON: the stems and tags that other tables have of it, so
  that they can be deleted, and its headings. A note that cannot be read as text has a *reason* and no words. *sure* is
  0 for one that was read within the tick of the clock in which it was written: it may have been written once more. Else
  it is the id that was next when that was found out.
- `links`: which notes have links that lead to a file of this name (`contents.link_stem`).
- `tags`: which notes have a tag, in which spelling if not that of the key, and how often.
- `masked`: ids whose words do not count any more (*moved* 0), since nothing can be deleted from `notes` without the
  text; or which have another path than their words say (*moved* 1).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from fsnotes.notes.index import folding

APPLICATION_ID: Final = 0x66736E69
FORMAT: Final = 3
RULES: Final = f"{FORMAT} {folding.VERSION}"
"""What the contents depend on beside the notes."""

COLUMNS: Final = ("body", "title", "heads", "tags", "path", "marks")
WEIGHTS: Final = (1.0, 10.0, 5.0, 4.0, 2.0, 0.0)
"""How much a word weighs by its column."""

_HASH_BYTES: Final = 16 << 20

TABLES: Final = (
    f"CREATE VIRTUAL TABLE notes USING fts5({', '.join(COLUMNS)}, content='', tokenize='ascii')",
    """CREATE TABLE docs (
        id INTEGER PRIMARY KEY, path TEXT NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
        sure INTEGER NOT NULL, etag TEXT NOT NULL, title TEXT NOT NULL, reason TEXT, held TEXT NOT NULL
    )""",
    "CREATE UNIQUE INDEX docs_by_path ON docs (path)",
    "CREATE INDEX docs_by_ino ON docs (ino)",
    "CREATE INDEX docs_unread ON docs (reason) WHERE reason IS NOT NULL",
    "CREATE TABLE links (stem TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (stem, doc)) WITHOUT ROWID",
    """CREATE TABLE tags (
        tag TEXT NOT NULL, doc INTEGER NOT NULL, name TEXT, uses INTEGER NOT NULL, PRIMARY KEY (tag, doc)
    ) WITHOUT ROWID""",
    "CREATE INDEX tags_by_doc ON tags (doc)",
    "CREATE TABLE masked (id INTEGER PRIMARY KEY, moved INTEGER NOT NULL)",
    "CREATE INDEX masked_moved ON masked (moved) WHERE moved",
    """CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1), generation TEXT NOT NULL, rules TEXT NOT NULL, boot TEXT NOT NULL,
        clean INTEGER NOT NULL, next INTEGER NOT NULL, complete INTEGER NOT NULL
    )""",
)

# Merging is ours alone: FTS5's own would stop an update for seconds.
SETTINGS: Final = (("automerge", 0), ("crisismerge", 1999), ("hashsize", _HASH_BYTES))


def create(connection: sqlite3.Connection, *, generation: str, boot: str) -> None:
    """Make the tables in an empty file, in one transaction. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in TABLES:
        connection.execute(statement)
    for name, value in SETTINGS:
        connection.execute("INSERT INTO notes (notes, rank) VALUES (?, ?)", (name, value))
    connection.execute(
        "INSERT INTO meta (one, generation, rules, boot, clean, next, complete) VALUES (1, ?, ?, ?, 0, 1, 0)",
        (generation, RULES, boot),
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def is_ours(connection: sqlite3.Connection) -> bool:
    """Say whether an opened file has our mark, our format and our tables, and nothing else. Raises sqlite3.Error."""
    marks = [connection.execute(f"PRAGMA {name}").fetchall() for name in ("application_id", "user_version")]
    if marks != [[(APPLICATION_ID,)], [(FORMAT,)]]:
        return False
    if _tables(connection) != _expected():
        return False
    return connection.execute("SELECT rules FROM meta").fetchall() == [(RULES,)]


def _tables(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()


def _expected() -> list[tuple[object, ...]]:
    """Return the tables as this version of SQLite makes them."""
    if not _made:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            create(connection, generation="", boot="")
            _made.extend(_tables(connection))
        finally:
            connection.close()
    return _made


_made: Final[list[tuple[object, ...]]] = []


def is_sound(connection: sqlite3.Connection, *, boot: str, size: Callable[[], int]) -> bool:
    """Say whether a file is ours, whole by its *size*, and was not being written when the power went.

    Raises sqlite3.Error.
    """
    # From the first look on nobody can write, so the size is that of what is seen.
    connection.execute("BEGIN")
    try:
        return _is_sound(connection, boot, size)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _is_sound(connection: sqlite3.Connection, boot: str, size: Callable[[], int]) -> bool:
    if not is_ours(connection):
        return False
    if connection.execute("SELECT boot = ? OR clean FROM meta", (boot,)).fetchall() != [(1,)]:
        return False
    pages, page = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if pages * page != size():
        return False
    # Damage to the words shows when they are asked for.
    connection.execute("SELECT rowid FROM notes WHERE notes MATCH '\"x\"' LIMIT 1").fetchall()
    connection.execute("SELECT id FROM docs ORDER BY id DESC LIMIT 1").fetchall()
    return True
