"""Decides when the ledger's file can be trusted, and makes it: SQLite, with each commit durable.

It keeps a rollback journal and not a write-ahead log: after each commit the one file is the whole truth, a
reader needs no shared memory, and the three more syncs (a millisecond) come after a person has read a form.
TRUNCATE with synchronous=FULL syncs the journal's end as well, so a committed row survives a power cut;
DELETE would not promise that. What the rows mean is left to `ledger`.

No other descriptor of the file is ever opened here: closing one would drop SQLite's locks in this process.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from fsnotes.confirm import private
from fsnotes.errors import Busy, ConfigurationError, FsnotesError, Unavailable

BUSY_SECONDS: Final = 1.5
"""How long a statement waits for another process's transaction."""

_APPLICATION_ID: Final = 0x66736E6C
_VERSION: Final = 1
_MAX_IDLE: Final = 4
_ATTEMPTS: Final = 5

_SCHEMA: Final = """
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, inode INTEGER NOT NULL, horizon REAL NOT NULL
);
CREATE TABLE spent (
    entry TEXT PRIMARY KEY, outcome TEXT NOT NULL, expires_at REAL NOT NULL,
    choice BLOB NOT NULL, owner TEXT NOT NULL, answered INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX spent_by_expiry ON spent (expires_at);
CREATE TABLE declined (
    call BLOB PRIMARY KEY, declined_at REAL NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX declined_by_end ON declined (until);
"""
_LEFTOVERS: Final = ("", "-journal", "-wal", "-shm")

ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What a statement raises where the file or the disk is at fault: SQLite's messages quote a damaged file, whose bytes
need be no text, and then it is the message that cannot be decoded."""

Identity = tuple[int, int]


class Transaction:
    """Runs statements of one transaction and fetches all they give: none stays open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement. Raises Busy, or Unavailable when the file is damaged or the disk refuses."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except ERRORS as error:
            raise _translate(error) from error

    def row(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """Run one statement and return its first row."""
        rows = self.rows(sql, *values)
        return rows[0] if rows else None

    def renew(self, ledger_id: str) -> None:
        """Forget everything under a fresh id: no state that was sealed before is taken again."""
        self.rows("DELETE FROM spent")
        self.rows("DELETE FROM declined")
        self.rows("UPDATE meta SET id = ?, horizon = 0", ledger_id)


class Database:
    """The file at one path, whichever that is at the moment. Thread-safe; refuses to be used after a fork."""

    def __init__(self, path: str, *, random: Callable[[int], bytes]) -> None:
        """Note the path; nothing is opened or made before it is needed."""
        self._path = os.path.abspath(path)
        self._folder, self._name = os.path.split(self._path)
        self._random = random
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._identity: Identity | None = None
        self._closed = False

    def fresh_id(self) -> str:
        """Return an id that no ledger has had."""
        return self._random(16).hex()

    def close(self) -> None:
        """Close the idle connections; one in use is closed by its user."""
        with self._mutex:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a transaction that sees one state of the file."""
        with self._connection() as connection:
            _run(connection, "BEGIN")
            try:
                yield Transaction(connection)
            finally:
                _abandon(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Give the only writing transaction of all processes, committed durably at the end.

        Any exception undoes it. Raises Busy when another process is in its way for BUSY_SECONDS, at the
        commit too: then nothing was written.
        """
        with self._connection() as connection:
            try:
                _run(connection, "BEGIN IMMEDIATE")
                yield Transaction(connection)
                _run(connection, "COMMIT")
            except BaseException:
                _abandon(connection)
                raise

    # -- connections -------------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            raise Unavailable("the confirmation ledger was opened by another process")
        connection, identity = self._borrow()
        try:
            yield connection
        finally:
            self._give_back(connection, identity)

    def _borrow(self) -> tuple[sqlite3.Connection, Identity]:
        try:
            for _ in range(_ATTEMPTS):
                identity = self._look() or self._create()
                connection = self._idle_for(identity) or self._connect(identity)
                if connection is not None:
                    return connection, identity
        except ConfigurationError as error:
            raise Unavailable("the confirmation ledger cannot be used") from error
        except ERRORS as error:
            raise _translate(error) from error
        raise Busy("the confirmation ledger is being replaced")

    def _idle_for(self, identity: Identity) -> sqlite3.Connection | None:
        stale: list[sqlite3.Connection] = []
        with self._mutex:
            if identity != self._identity:
                stale, self._idle = self._idle, []
                self._identity = identity
            connection = self._idle.pop() if self._idle else None
        for other in stale:
            other.close()
        return connection

    def _give_back(self, connection: sqlite3.Connection, identity: Identity) -> None:
        with self._mutex:
            wanted = identity == self._identity and not self._closed and len(self._idle) < _MAX_IDLE
            if wanted and not connection.in_transaction:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, identity: Identity) -> sqlite3.Connection | None:
        """Open the file with this *identity*; None when the path has another one by then."""
        connection = _open(self._path)
        try:
            if self._look() != identity:
                connection.close()
                return None
            if _value(connection, "PRAGMA journal_mode = TRUNCATE") != "truncate":
                raise Unavailable("the confirmation ledger is in use by another program")
            for pragma in (
                "synchronous = FULL",
                "fullfsync = ON",
                "trusted_schema = OFF",
                "cell_size_check = ON",
            ):
                connection.execute(f"PRAGMA {pragma}")
            if _value(connection, "PRAGMA application_id") != _APPLICATION_ID:
                raise Unavailable("the confirmation ledger is another program's file")
            if _value(connection, "PRAGMA user_version") != _VERSION:
                raise Unavailable("the confirmation ledger is of another version")
            if _value(connection, "PRAGMA quick_check(1)") != "ok":
                raise Unavailable("the confirmation ledger is damaged")
            inode = _value(connection, "SELECT inode FROM meta")
            if inode is None:
                raise Unavailable("the confirmation ledger is damaged")
            if inode != identity[1]:
                self._adopt(connection, identity)
        except BaseException:
            connection.close()
            raise
        return connection

    def _adopt(self, connection: sqlite3.Connection, identity: Identity) -> None:
        """Renew a file that was made elsewhere: a copy may lack what was spent since it was taken."""
        _run(connection, "BEGIN IMMEDIATE")
        try:
            transaction = Transaction(connection)
            if transaction.row("SELECT inode FROM meta") != (identity[1],):
                transaction.renew(self.fresh_id())
                transaction.rows("UPDATE meta SET inode = ?", identity[1])
            _run(connection, "COMMIT")
        except BaseException:
            _abandon(connection)
            raise

    # -- the file ----------------------------------------------------------------------------------

    def _look(self) -> Identity | None:
        try:
            status = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(f"{self._path!r} cannot be used: {error.strerror}") from error
        private.check_file(status, self._path)
        return status.st_dev, status.st_ino

    def _create(self) -> Identity:
        with private.opened(self._folder) as folder, private.exclusive(folder):
            identity = self._look()
            if identity is not None:
                return identity  # another process was faster
            try:
                self._create_locked(folder)
            except OSError as error:
                raise ConfigurationError(f"{self._path!r} cannot be made: {error.strerror}") from error
            made = self._look()
        if made is None:
            raise Busy("the confirmation ledger is being replaced")
        return made

    def _create_locked(self, folder: int) -> None:
        temporary = f"{self._name}.new"
        # A journal that outlived its file would be played back into the next one.
        for suffix in _LEFTOVERS:
            private.discard(folder, temporary + suffix)
            if suffix:
                private.discard(folder, self._name + suffix)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            try:
                inode = os.fstat(descriptor).st_ino
            finally:
                private.release(descriptor)
            self._fill(inode)
            private.publish(folder, temporary, self._name)
        except BaseException:
            for suffix in reversed(_LEFTOVERS):
                private.drop(folder, temporary + suffix)
            raise

    def _fill(self, inode: int) -> None:
        connection = _open(f"{self._path}.new")
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute("INSERT INTO meta VALUES (1, ?, ?, 0)", (self.fresh_id(), inode))
            connection.execute("COMMIT")
        finally:
            connection.close()


def _open(path: str) -> sqlite3.Connection:
    # mode=rw: SQLite itself makes no file, so none ever has the wrong mode or half a schema.
    return sqlite3.connect(
        f"file:{quote(path)}?mode=rw",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _value(connection: sqlite3.Connection, sql: str) -> Any:
    row = connection.execute(sql).fetchone()
    return None if row is None else row[0]


def _run(connection: sqlite3.Connection, sql: str) -> None:
    try:
        connection.execute(sql)
    except ERRORS as error:
        raise _translate(error) from error


def _abandon(connection: sqlite3.Connection) -> None:
    """Roll back, if a transaction is open. An error that interrupted it has been raised already."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except ERRORS:
        # SAFETY: a connection that is still in a transaction is closed and not used again, and what was not
        # committed is undone by SQLite at the latest when the next one opens the file.
        pass


def _translate(error: Exception) -> FsnotesError:
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy("the confirmation ledger is in use")
    return Unavailable("the confirmation ledger is damaged or cannot be used")
