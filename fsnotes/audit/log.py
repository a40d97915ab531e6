"""Decides what the audit log says of a change or a refusal, and that no change happens without room for its line.

A change is announced by a line with the outcome `begun`, which is then overwritten in place, once, by what
became of it: so the room is there before anything is changed, there is exactly one line for each change, and a
process that is killed in between leaves `begun` as its trace. Never holds a note's text or a secret.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Callable
from typing import Final

from fsnotes.audit.events import MAX_REFUSED_FIELD, Event, encode, slot, stamp
from fsnotes.audit.locking import LOCK_SECONDS, lock, write_all
from fsnotes.audit.reservations import Reservation
from fsnotes.audit.rotation import DEFAULT, Rotation, RotationStep, complete, ignore, rotate
from fsnotes.errors import Unavailable
from sandbox.releasing import release, unlock

AGAIN_SECONDS: Final = 10.0
"""How long the log goes on in a file that could not be renamed, before that is tried again."""

_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class AuditLog:
    """A file of JSON lines that only grows, shared by processes; `flock` orders the appends.

    The folder it lies in must be this account's alone. *observe* is told of each step of a rotation.
    """

    def __init__(
        self,
        path: str,
        *,
        rotation: Rotation = DEFAULT,
        clock: Callable[[], float] = time.time,
        observe: Callable[[RotationStep], None] = ignore,
    ) -> None:
        self._path = path
        self._rotation = rotation
        self._clock = clock
        self._observe = observe
        self._mutex = threading.Lock()
        self._rotate_from = 0.0
        self._whole = (0, 0)
        """The inode and the size of the file as this process left it, with a whole line at its end."""

    def reserve(self, event: Event) -> Reservation:
        """Write the `begun` line of a change. Raises Unavailable when there is no room: nothing may be changed."""
        begun = stamp(self._clock())
        line = slot(event, stamp=begun)
        descriptor, offset = self._append(line)
        return Reservation(event, descriptor, stamp=begun, offset=offset, length=len(line))

    def refuse(self, event: Event) -> None:
        """Append the line of a refusal. Raises Unavailable when it cannot be written."""
        descriptor, _ = self._append(encode(event, stamp=stamp(self._clock()), most=MAX_REFUSED_FIELD))
        release(descriptor)

    def _append(self, line: bytes) -> tuple[int, int]:
        """Append a whole line; return a descriptor of the file, for the caller to close, and where the line is."""
        try:
            with self._mutex:
                descriptor, held = self._take()
                try:
                    offset = self._add(descriptor, held, line)
                    rotated = offset + len(line) >= self._rotation.max_bytes and self._rotate(descriptor)
                    unlock(descriptor)
                except BaseException:
                    _let_go(descriptor)
                    raise
        except OSError as error:
            raise Unavailable("the audit log cannot be written") from error
        if rotated:
            complete(self._path, self._rotation, now=self._clock(), observe=self._observe)
        return descriptor, offset

    def _take(self) -> tuple[int, os.stat_result]:
        """Open the log and lock it; return the descriptor and what it is of.

        Who waited for the lock of a file that was renamed meanwhile waits for the next one.
        """
        until = time.monotonic() + LOCK_SECONDS
        while True:
            descriptor = os.open(self._path, _OPEN, 0o600)
            try:
                lock(descriptor, until=until)
                held = os.fstat(descriptor)
                if not stat.S_ISREG(held.st_mode) or held.st_uid != os.geteuid():
                    raise OSError(errno.EPERM, "no plain file of this account's")
                if self._is_at_path(held):
                    return descriptor, held
                if time.monotonic() >= until:
                    raise BlockingIOError(errno.EAGAIN, "the log keeps being renamed")
            except BaseException:
                _let_go(descriptor)
                raise
            _let_go(descriptor)

    def _is_at_path(self, held: os.stat_result) -> bool:
        try:
            there = os.lstat(self._path)
        except FileNotFoundError:
            return False
        return there.st_ino == held.st_ino and there.st_dev == held.st_dev

    def _add(self, descriptor: int, held: os.stat_result, line: bytes) -> int:
        """Write *line* behind what is there, and return its offset. A line that has no end is given one first."""
        end = held.st_size
        if end > 0 and self._whole != (held.st_ino, end) and os.pread(descriptor, 1, end - 1) != b"\n":
            _write(descriptor, b"\n", end)
            end += 1
        _write(descriptor, line, end)
        self._whole = (held.st_ino, end + len(line))
        return end

    def _rotate(self, descriptor: int) -> bool:
        """Begin a new file, unless that was tried in vain a moment ago, or another program has renamed this one."""
        if time.monotonic() < self._rotate_from or not self._is_at_path(os.fstat(descriptor)):
            return False
        rotated = rotate(self._path, observe=self._observe)
        if not rotated:
            self._rotate_from = time.monotonic() + AGAIN_SECONDS
        return rotated


def _write(descriptor: int, data: bytes, end: int) -> None:
    try:
        write_all(descriptor, data, end)
    except OSError:
        # A half-written line would swallow the next one.
        os.ftruncate(descriptor, end)
        raise


def _let_go(descriptor: int) -> None:
    unlock(descriptor)
    release(descriptor)
