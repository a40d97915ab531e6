"""Sees whether a file is opened, read or changed, by whomever: the kernel says so."""

from __future__ import annotations

import ctypes
import os
import struct
from types import TracebackType
from typing import Self

_EVENT = struct.Struct("iIII")
_WATCHED = {
    0x00000001: "read",
    0x00000002: "modified",
    0x00000004: "attributes changed",
    0x00000020: "opened",
    0x00000040: "moved away",
    0x00000080: "moved to",
    0x00000100: "created",
    0x00000200: "deleted",
    0x00000800: "moved",
    0x00000400: "deleted",
}
_NON_BLOCKING = os.O_NONBLOCK | os.O_CLOEXEC
_DO_NOT_FOLLOW = 0x02000000


class Watch:
    """A watch on files and folders. A look at a name (`stat`, O_PATH) is no event; an opening is one."""

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(_NON_BLOCKING)
        self._paths = {}
        for path in paths:
            mask = sum(_WATCHED) | _DO_NOT_FOLLOW
            number = libc.inotify_add_watch(self._fd, os.fsencode(path), mask)
            if number < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fspath(path))
            self._paths[number] = os.path.basename(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def seen(self) -> set[tuple[str, str]]:
        """Return what happened since the last time: which file, and what."""
        found: set[tuple[str, str]] = set()
        while True:
            try:
                data = os.read(self._fd, 65_536)
            except BlockingIOError:
                return found
            place = 0
            while place < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, place)
                place += _EVENT.size + length
                found |= {(self._paths[number], what) for bit, what in _WATCHED.items() if mask & bit}
