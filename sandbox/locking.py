"""The lock of a root: one writer at a time, among threads and among processes, with a deadline.

It is `flock` on a fresh read descriptor of the root directory itself, so no lock file lies among people's
files, and a mutex, so that threads queue without polling the kernel. The kernel frees it when its holder
dies. Where directories cannot be locked (NFS), a fresh description of a lock file in a folder of our own stands in.

Limits: advisory, so it keeps out our own writers and nobody else; not re-entrant. A process that holds the
lock and forks without exec shares it with the child until the holder releases it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

from sandbox.beneath import Beneath, Descriptor
from sandbox.errors import Abandoned, LockTimeout, RootUnusable
from sandbox.own_files import open_own_file, open_own_folder
from sandbox.place import Place
from sandbox.releasing import release, unlock
from sandbox.reports import refusal
from sandbox.resolve import READ_FOLDER

STEP_SECONDS: Final = 0.005

LockKind = Literal["directory", "file"]

# How file systems say that a directory cannot be locked: NFS wants a descriptor that can write (EBADF).
_NOT_LOCKABLE: Final = frozenset(
    {
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.ENOLCK,
        errno.EBADF,
        errno.EINVAL,
        errno.ENOSYS,
        errno.EISDIR,
        errno.EACCES,
        errno.EPERM,
    }
)
_REPLACED_ATTEMPTS: Final = 16


class _UnlockableError(Exception):
    """The directory cannot be locked on this file system."""


def never() -> bool:
    """The default for `abandoned`: the caller waits until the deadline."""
    return False


class Lock:
    """The lock of one root; safe to use from several threads."""

    def __init__(
        self, tree: Beneath, lock_file: str | None, *, folder: tuple[int, int] | None = None
    ) -> None:
        """Lock *tree*, or else *lock_file*, which must lie in the *folder* of this identity where one is given."""
        self._tree = tree
        self._lock_file = lock_file
        self._folder = folder
        self._mutex = threading.Lock()

    @contextmanager
    def hold(self, *, timeout: float, abandoned: Callable[[], bool]) -> Iterator[None]:
        """Hold the lock for the block; see `Root.lock`."""
        deadline = _Deadline(timeout, abandoned)
        self._take_mutex(deadline)
        try:
            descriptor = self._take(deadline)
            try:
                # A caller that gave up while waiting has not begun: nothing of it may happen any more.
                deadline.check_abandoned()
                yield
            finally:
                unlock(descriptor)
                release(descriptor)
        finally:
            self._mutex.release()

    def kind(self) -> LockKind:
        """Say what is locked here: the directory itself, or the lock file instead of it."""
        with Descriptor(self._open_directory()) as descriptor:
            try:
                if _try_lock(descriptor):
                    unlock(descriptor)
            except _UnlockableError:
                return "file"
        return "directory"

    def _take_mutex(self, deadline: _Deadline) -> None:
        while not self._mutex.acquire(timeout=deadline.step()):
            deadline.check()

    def _take(self, deadline: _Deadline) -> int:
        try:
            return self._wait_for(self._open_directory(), deadline)
        except _UnlockableError as error:
            if self._lock_file is None:
                raise RootUnusable("the directory cannot be locked, and no lock file was given") from error
            return self._take_file(self._lock_file, deadline)

    def _take_file(self, path: str, deadline: _Deadline) -> int:
        where, name = os.path.split(path)
        with Descriptor(
            open_own_folder(where if self._folder is None else Place(where, self._folder))
        ) as folder:
            for _ in range(_REPLACED_ATTEMPTS):
                descriptor = self._wait_for(_open_lock_file(name, folder), deadline)
                if _is_at(name, folder, descriptor):
                    return descriptor
                release(descriptor)  # the file was replaced while we waited: the lock is on nobody's file
        raise LockTimeout("the lock file keeps being replaced")

    def _wait_for(self, descriptor: int, deadline: _Deadline) -> int:
        try:
            while not _try_lock(descriptor):
                deadline.check()
                time.sleep(deadline.step())
        except BaseException:
            release(descriptor)
            raise
        return descriptor

    def _open_directory(self) -> int:
        try:
            return os.open(".", READ_FOLDER | os.O_CLOEXEC, dir_fd=self._tree.fd)
        except OSError as error:
            raise refusal(error, ".") from error


class _Deadline:
    """When to stop waiting: the time is up, or the caller has gone."""

    def __init__(self, timeout: float, abandoned: Callable[[], bool]) -> None:
        self._end = time.monotonic() + timeout
        self._abandoned = abandoned

    def step(self) -> float:
        """How long to wait before looking again."""
        return max(0.0, min(STEP_SECONDS, self._end - time.monotonic()))

    def check(self) -> None:
        """Raise LockTimeout or Abandoned when the wait is over."""
        self.check_abandoned()
        if not time.monotonic() < self._end:
            raise LockTimeout("the lock was not free in time")

    def check_abandoned(self) -> None:
        """Raise Abandoned when the caller has gone."""
        if self._abandoned():
            raise Abandoned("the caller gave up")


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NOT_LOCKABLE:
            raise _UnlockableError from error
        raise refusal(error, ".") from error
    return True


def _open_lock_file(name: str, folder: int) -> int:
    try:
        return open_own_file(name, os.O_RDWR | os.O_CREAT, folder=folder)
    except OSError as error:
        raise RootUnusable("the lock file cannot be opened") from error


def _is_at(name: str, folder: int, descriptor: int) -> bool:
    held = os.fstat(descriptor)
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
