"""Which mounts a folder lies on and has in it, as the kernel tells, and whether that has changed.

Who is in another mount namespace has a copy of the mounts from when it was made: what is mounted or unmounted
afterwards is not seen there. What follows from that is decided elsewhere.

The table is read strictly (proc_pid_mountinfo(5)). Told apart are mounts by their numbers, their device, what of it is
mounted, where, and with which options. A mount that is replaced, between two looks, by one that has all of these, the
number too, is taken for the same.
"""

from __future__ import annotations

import os
import re
import select
import threading
from collections.abc import Iterable
from typing import Final, NamedTuple

from sandbox.releasing import release

TABLE: Final = "/proc/self/mountinfo"

MAX_BYTES: Final = 16 * 1_048_576
"""A table that is longer is not read: that of some hundred thousand mounts."""

_CHUNK: Final = 1 << 16
_LINE: Final = re.compile(
    rb"(?P<number>[0-9]{1,10}) (?P<parent>[0-9]{1,10}) (?P<device>[0-9]+:[0-9]+)"
    rb" (?P<root>[^ \t\n]+) (?P<point>/[^ \t\n]*) (?P<options>[^ \t\n]+)"
    rb"(?: (?!- )[^ \t\n]+)* - [^ \t\n]+ [^ \t\n]* [^\n]*"
)
_ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2})?")


class Mount(NamedTuple):
    """One mount. *root* is what of the file system is mounted; paths are bytes, as the kernel has them."""

    number: int
    parent: int
    device: bytes
    root: bytes
    point: bytes
    options: bytes


class MountsUnknownError(Exception):
    """The table of mounts cannot be read, or is none that a kernel writes; the text says why."""


def parse(table: bytes) -> tuple[Mount, ...]:
    """Return the mounts in *table*. Raises MountsUnknownError."""
    if table and not table.endswith(b"\n"):
        raise MountsUnknownError("the table of mounts ends within a line")
    return tuple(_parse(line) for line in table.split(b"\n")[:-1])


def around(mounts: Iterable[Mount], folder: str) -> frozenset[Mount]:
    """Return those that the absolute path *folder* lies on, and those at it and beneath it."""
    path = os.fsencode(folder).rstrip(b"/")
    inside: set[Mount] = set()
    above: dict[int, set[Mount]] = {}
    for mount in mounts:
        point = mount.point.rstrip(b"/")
        if point == path or point.startswith(path + b"/"):
            inside.add(mount)
        elif path.startswith(point + b"/"):
            above.setdefault(len(point), set()).add(mount)
    return frozenset(inside | above.get(max(above, default=0), set()))


def _parse(line: bytes) -> Mount:
    found = _LINE.fullmatch(line)
    if found is None:
        raise MountsUnknownError("the table of mounts has a line that is none")
    number, parent, device, root, point, options = found.group(
        "number", "parent", "device", "root", "point", "options"
    )
    return Mount(int(number), int(parent), device, _unescaped(root), _unescaped(point), options)


def _unescaped(text: bytes) -> bytes:
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[bytes]) -> bytes:
    digits = found.group(1)
    if digits is None:
        raise MountsUnknownError("the table of mounts has an escape that is none")
    return bytes([int(digits, 8)])


class MountWatch:
    """The mounts around some folders, as they are. Thread-safe; close it. *table* is where they are told.

    A look costs one system call while nothing on the host is mounted or unmounted.
    """

    def __init__(self, *folders: str, table: str = TABLE) -> None:
        self._folders = folders
        self._mutex = threading.Lock()
        self._seen: frozenset[Mount] | None = None
        self._is_read = False
        self.why: str | None = None
        """Why the mounts are not known, when they are not."""
        self._path = table
        self._is_closed = False
        self._changes = select.poll()
        self._table: int | None = None
        self._begin()
        # Whoever waits here has a description of their own: an event is told to each description once.
        self._bell = self._open()

    @property
    def bell(self) -> int | None:
        """A descriptor that has POLLPRI once something was mounted or unmounted; None where there is none."""
        return self._bell

    def look(self) -> frozenset[Mount] | None:
        """Return the mounts around the folders; None where they are not known, or it was closed."""
        with self._mutex:
            if self._table is None and not self._is_closed:
                self._begin()  # it may have been a want of descriptors
            if self._table is None:
                return None
            # In this order: what changes while the table is read is told again.
            if self._has_changed(self._table) or not self._is_read:
                self._seen = self._read(self._table)
                self._is_read = self._seen is not None
            return self._seen

    def close(self) -> None:
        """Let go of the table."""
        with self._mutex:
            for descriptor in (self._table, self._bell):
                if descriptor is not None:
                    release(descriptor)
            self._table = self._bell = self._seen = None
            self._is_closed = True

    def _begin(self) -> None:
        self._table = self._open()
        if self._table is not None:
            self._changes.register(self._table, select.POLLPRI)

    def _open(self) -> int | None:
        try:
            return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self.why = f"{self._path} cannot be opened: {error.strerror}"
            return None

    def _has_changed(self, descriptor: int) -> bool:  # noqa: ARG002 - for a test's own
        return bool(self._changes.poll(0))

    def _read(self, descriptor: int) -> frozenset[Mount] | None:
        try:
            mounts = parse(read(descriptor))
        except (OSError, MountsUnknownError) as error:
            self.why = str(error)
            return None
        found: frozenset[Mount] = frozenset()
        return found.union(*(around(mounts, folder) for folder in self._folders))


def read(descriptor: int) -> bytes:
    """Return the whole table, from its beginning. Raises OSError, MountsUnknownError."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces: list[bytes] = []
    left = MAX_BYTES
    while piece := os.read(descriptor, _CHUNK):
        left -= len(piece)
        if left < 0:
            raise MountsUnknownError("the table of mounts is too long")
        pieces.append(piece)
    return b"".join(pieces)


def obstacle() -> str | None:
    """Say why changes of mounts cannot be noticed on this host; None where they can."""
    watch = MountWatch("/")
    try:
        return watch.why if watch.look() is None else None
    finally:
        watch.close()
