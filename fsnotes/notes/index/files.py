"""The folder of the index, and how its files are opened: by SQLite alone, and only if they are plain files of ours.

The folder is ours too, see `sandbox.own_files`.

SQLite wants a path; names are looked at, removed and replaced through a descriptor of the folder. No other descriptor
of a database is ever opened in this process: closing one would drop SQLite's locks.

Who keeps an index holds a lock of the kind that belongs to an open description and needs one that can write: so it
excludes another keeper of the same process as well, ends with the descriptor, and a worker that may make it can lock
no folder. Systems without that kind (macOS) have `flock`.

A power cut may leave a file that was not synchronized in any state. So each has the id of the boot under which it was
last written, and a mark that it was closed properly; without the mark, a file of another boot is not trusted.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import struct
from typing import Final

from fsnotes.errors import Busy, IndexUnusable, Unavailable
from sandbox.errors import RootUnusable
from sandbox.own_files import open_own_file, open_own_folder
from sandbox.releasing import release

CURRENT: Final = "search.sqlite3"
NEXT: Final = "search-next.sqlite3"
LOCK: Final = "search.lock"
_COMPANIONS: Final = ("-journal", "-wal", "-shm")

_OFD_SETLK: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
_WHOLE_FILE: Final = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""`struct flock`: kind, whence, begin, length (to the end), and no process."""
_HELD: Final = frozenset({errno.EAGAIN, errno.EACCES, errno.EINTR})

_UNQUOTED: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")

Identity = tuple[int, int]

ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What a statement raises where the file or the disk is at fault: SQLite's messages quote a damaged file, whose bytes
need be no text, and then it is the message that cannot be decoded."""

BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DISK: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_TOOBIG}
)


def code_of(error: Exception) -> int:
    """Return the primary code of an error of SQLite, 0 where it has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_damage(error: Exception) -> bool:
    """Say whether *error* means that the file is no index, and not that it or the disk cannot be used right now."""
    return code_of(error) not in BUSY | _DISK


def translated(error: Exception) -> Busy | Unavailable:
    """Return what an error that is no damage is to the caller."""
    if code_of(error) in BUSY:
        return Busy("the search index is in use")
    if code_of(error) == sqlite3.SQLITE_FULL:
        return Unavailable("the disk is full")
    return Unavailable("the search index cannot be written")


class Folder:
    """The folder of one workspace's index. Close it."""

    __slots__ = ("_fd", "_lock", "path")

    def __init__(self, path: str) -> None:
        """Open the folder. Raises Unavailable."""
        self.path = path
        self._lock = -1
        try:
            self._fd = open_own_folder(path)
        except RootUnusable as error:
            raise Unavailable("the folder of the search index cannot be used") from error

    def close(self) -> None:
        """Close the folder and let go of the lock."""
        for descriptor in (self._lock, self._fd):
            if descriptor >= 0:
                release(descriptor)
        self._lock = self._fd = -1

    def lock(self) -> None:
        """Become the only writer of all processes, until `close`. Raises Busy while another one is."""
        try:
            descriptor = open_own_file(LOCK, os.O_RDWR | os.O_CREAT, folder=self._fd)
        except (OSError, RootUnusable) as error:
            raise Unavailable("the folder of the search index cannot be used") from error
        try:
            _lock(descriptor)
        except OSError as error:
            release(descriptor)
            if error.errno in _HELD:
                raise Busy("another process keeps the search index") from error
            raise Unavailable("the folder of the search index cannot be used") from error
        self._lock = descriptor

    def relock(self) -> None:
        """Make sure that the lock is still the one that others would take. Raises Busy and Unavailable."""
        if self._lock < 0 or _identity(os.fstat(self._lock)) != self.identity(LOCK):
            if self._lock >= 0:
                release(self._lock)
                self._lock = -1
            self.lock()

    def identity(self, name: str) -> Identity | None:
        """Return which file has this name, if it is one that may be opened: plain, ours, under one name only."""
        try:
            status = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
            return None
        return _identity(status)

    def size(self, name: str) -> int:
        """Return the size of a file, in bytes; 0 where there is none."""
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_size
        except OSError:
            return 0

    def discard(self, name: str) -> None:
        """Remove a database and what belongs to it, whatever it is. Raises Unavailable."""
        for each in (*(name + suffix for suffix in _COMPANIONS), name):
            self._remove(each)

    def promote(self, name: str, over: str) -> None:
        """Give a closed database the name of another one that is closed. Raises Unavailable."""
        for each in (over, name):
            for suffix in _COMPANIONS:
                # SAFETY: what is left of a journal would be played back into the file that takes the name. Both files
                # are closed, so their journals are empty; a kill in between leaves one of them whole.
                self._remove(each + suffix)
        try:
            os.rename(name, over, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError as error:
            raise Unavailable("the folder of the search index cannot be used") from error

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._fd)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Unavailable("the folder of the search index cannot be used") from error

    def connect(
        self, name: str, mode: str, *, timeout: float, pragmas: tuple[str, ...]
    ) -> sqlite3.Connection:
        """Open a database with SQLite: *mode* `ro`, `rw` or `rwc`. Raises ERRORS, and IndexUnusable.

        What is there must be a file that may be opened, and the same before and after.
        """
        before = self.identity(name)
        if before is None and mode != "rwc":
            raise IndexUnusable("there is no search index")
        path = _quoted(os.path.join(self.path, name))
        connection = sqlite3.connect(
            f"file:{path}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=timeout,
            check_same_thread=False,
        )
        try:
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}").fetchall()
            after = self.identity(name)
            if after is None or before not in (None, after):
                raise IndexUnusable("another file took the place of the search index")
        except BaseException:
            connection.close()
            raise
        return connection


def _lock(descriptor: int) -> None:
    """Lock a file that is open for writing, until its description is closed. Raises OSError when it is locked."""
    if _OFD_SETLK is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        fcntl.fcntl(descriptor, _OFD_SETLK, _WHOLE_FILE)


def _quoted(path: str) -> str:
    """Return *path* as it is written in a URI; the module of the standard library takes longer to load than SQLite."""
    return "".join(chr(byte) if byte in _UNQUOTED else f"%{byte:02X}" for byte in os.fsencode(path))


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
