"""The kernel's queue of events: watching what a descriptor holds, reading what happened, and why that may fail.

What an event means for which path is left to `watches.py`.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from typing import Final

from sandbox import _linux
from sandbox.errors import WatchUnavailable
from sandbox.marks import Reason
from sandbox.releasing import release

READ_BYTES: Final = 1 << 18
"""How much is read at once: some eight thousand events."""

MASK: Final = (
    _linux.IN_MODIFY
    | _linux.IN_ATTRIB
    | _linux.IN_CLOSE_WRITE
    | _linux.IN_MOVED_FROM
    | _linux.IN_MOVED_TO
    | _linux.IN_CREATE
    | _linux.IN_DELETE
    | _linux.IN_DELETE_SELF
    | _linux.IN_MOVE_SELF
    | _linux.IN_ONLYDIR
    | _linux.IN_EXCL_UNLINK
)
_EVENT: Final = struct.Struct("iIII")

_REASONS: Final = {
    errno.ENOSPC: Reason.LIMIT,
    errno.ENOMEM: Reason.LIMIT,
    errno.EMFILE: Reason.LIMIT,
    errno.ENFILE: Reason.LIMIT,
    errno.EACCES: Reason.DENIED,
    errno.EPERM: Reason.DENIED,
}

_OBSTACLES: Final = {
    errno.ENOSYS: "this system has no inotify",
    errno.EMFILE: "the limit of inotify instances, or of open files, is reached",
    errno.ENFILE: "the system's limit of open files is reached",
    errno.ENOSPC: "the limit of inotify watches is reached",
    errno.ENOMEM: "there is no memory for it",
    errno.ENOENT: "/proc is missing",
    errno.EACCES: "there is no permission to read the folder",
}

Event = tuple[int, int, int, bytes]
"""The number of a watch, the mask, the cookie that joins two events, and the name in the watched folder if any."""


class Inotify:
    """One queue of events. Close it, and all its watches end. Raises WatchUnavailable."""

    def __init__(self) -> None:
        try:
            self._fd = _linux.inotify_init()
        except OSError as error:
            raise unavailable(error.errno) from error

    def close(self) -> None:
        """End all watches."""
        release(self._fd)

    def fileno(self) -> int:
        """Return the descriptor that can be read when there are events."""
        return self._fd

    def watch(self, folder: int) -> int:
        """Watch what the descriptor *folder* holds; what is watched already keeps its number. Raises OSError."""
        return _linux.inotify_add_watch(self._fd, folder, MASK)

    def release(self, watch: int) -> None:
        """End a watch, which may have ended by itself."""
        try:
            _linux.inotify_rm_watch(self._fd, watch)
        except OSError:
            pass  # it has ended with its folder

    def read(self) -> bytes:
        """Return events that have come up, as `events` reads them; nothing when there are none."""
        try:
            return os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return b""


def events(data: bytes) -> Iterator[Event]:
    """Yield the events in what was read; inotify(7)."""
    at, header, unpack = 0, _EVENT.size, _EVENT.unpack_from
    while at < len(data):
        watch, mask, cookie, length = unpack(data, at)
        start = at + header
        at = start + length
        yield watch, mask, cookie, data[start:at].rstrip(b"\0")


def reason(number: int | None) -> Reason:
    """Return why a folder is not watched, of the errno that it failed with."""
    return _REASONS.get(number or 0, Reason.FAILED)


def unavailable(number: int | None) -> WatchUnavailable:
    """Return what to raise where nothing can be watched."""
    return WatchUnavailable(_OBSTACLES.get(number or 0, "the folder cannot be watched"))
