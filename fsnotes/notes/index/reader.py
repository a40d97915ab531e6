"""The readers of an index file: short calls on what was committed last, of whichever file has the name by then.

A reader trusts no more than the writer does, writes nothing, and repairs nothing: what it cannot use is IndexUnusable,
and a search does without. A call is one transaction, and all its rows are fetched before it ends, since the writer's
commit waits for it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from fsnotes.errors import IndexUnusable, Unavailable
from fsnotes.notes.index.files import CURRENT, ERRORS, Folder, Identity
from fsnotes.notes.index.schema import is_sound

TIMEOUT: Final = 0.25
"""How long a call waits for a commit, in seconds."""
_PRAGMAS: Final = (
    "query_only = 1",
    "mmap_size = 0",
    "temp_store = MEMORY",
    "cache_size = -8192",
    "trusted_schema = 0",
)


class View:
    """One state of the index, for one call."""

    __slots__ = ("_connection", "_opening")

    def __init__(self, connection: sqlite3.Connection, opening: int) -> None:
        self._connection = connection
        self._opening = opening

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement and return all its rows."""
        return self._connection.execute(sql, values).fetchall()

    def number(self, sql: str, *values: object) -> int:
        """Run a statement that gives one number."""
        return int(self._connection.execute(sql, values).fetchall()[0][0])

    def version(self) -> tuple[int, int]:
        """Return what is the same for two views of one reader only if nothing was committed between them."""
        return self._opening, self.number("PRAGMA data_version")


class Standing(NamedTuple):
    """Which file it is (*generation*), and whether every note was in it once (*complete*)."""

    generation: str
    complete: bool


def standing(view: View) -> Standing:
    """Return how the index stands that is seen. Without *complete*, a search in it is only a part."""
    generation, complete = view.rows("SELECT generation, complete FROM meta")[0]
    return Standing(str(generation), bool(complete))


class Reader:
    """The index of one workspace, for reading. Thread-safe; close it."""

    def __init__(self, folder: str, *, boot: str) -> None:
        """Note the folder; nothing is opened before it is needed. *boot* is the id of the running boot."""
        self._path = folder
        self._boot = boot
        self._mutex = threading.Lock()
        self._folder: Folder | None = None
        self._connection: sqlite3.Connection | None = None
        self._identity: Identity | None = None
        self._openings = 0

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._drop()
            if self._folder is not None:
                self._folder.close()
                self._folder = None

    @contextmanager
    def view(self) -> Iterator[View]:
        """Give one state of the index. Raises IndexUnusable, also from within the block."""
        with self._mutex:
            try:
                connection = self._current()
                connection.execute("BEGIN")
                try:
                    yield View(connection, self._openings)
                finally:
                    if connection.in_transaction:
                        connection.execute("COMMIT")
            except ERRORS as error:
                self._drop()
                raise IndexUnusable("the search index cannot be read") from error

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file that has the name now."""
        if self._folder is None:
            try:
                self._folder = Folder(self._path)
            except Unavailable as error:
                raise IndexUnusable("there is no search index") from error
        # While the file is open, no other one can have its inode.
        identity = self._folder.identity(CURRENT)
        if self._connection is None or identity != self._identity:
            self._drop()
            self._connection = self._open(self._folder)
            self._identity = identity
            self._openings += 1
        return self._connection

    def _open(self, folder: Folder) -> sqlite3.Connection:
        connection = folder.connect(CURRENT, "ro", timeout=TIMEOUT, pragmas=_PRAGMAS)
        try:
            if not is_sound(connection, boot=self._boot, size=lambda: folder.size(CURRENT)):
                raise IndexUnusable("the search index is none that can be trusted")
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
