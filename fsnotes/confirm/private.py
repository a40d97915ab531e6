"""Decides whether a folder and the files in it are this user's alone, and writes such files as one step.

What stands in the files is left to `keys` and `database`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fsnotes.errors import Busy, ConfigurationError

LOCK_SECONDS: Final = 2.0
"""How long one process waits for another that is writing a file of the folder."""

_LOCK_STEP: Final = 0.005
_MAX_BYTES: Final = 65_536


@contextmanager
def opened(folder: str) -> Iterator[int]:
    """Give a descriptor of *folder*, made with mode 0700 if it is missing.

    Raises ConfigurationError when it is a link, another user's, or open to others.
    """
    try:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigurationError(f"{folder!r} is not a folder that can be used: {error.strerror}") from error
    try:
        try:
            status = os.fstat(descriptor)
        except OSError as error:
            raise ConfigurationError(f"{folder!r} cannot be looked at: {error.strerror}") from error
        _check_owner(status, f"the folder {folder!r}")
        yield descriptor
    finally:
        release(descriptor)


def check_file(status: os.stat_result, path: str) -> None:
    """Raise ConfigurationError unless *status*, taken without following links, is of a private plain file."""
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError(f"{path!r} is not a plain file")
    _check_owner(status, repr(path))


def _check_owner(status: os.stat_result, what: str) -> None:
    if status.st_uid != os.geteuid():
        raise ConfigurationError(f"{what} belongs to another user")
    if status.st_mode & 0o077:
        raise ConfigurationError(f"{what} is open to other users (chmod go= closes it)")


@contextmanager
def exclusive(folder: int) -> Iterator[None]:
    """Hold the folder's lock, so that one thread of one process at a time makes or replaces its files.

    The lock belongs to the descriptor from `opened` and dies with it, or with the process. Raises Busy when
    another has it for LOCK_SECONDS.
    """
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Busy("the state folder is locked") from None
            time.sleep(_LOCK_STEP)
        except OSError as error:
            raise ConfigurationError(f"the state folder cannot be locked: {error.strerror}") from error
    try:
        yield
    finally:
        try:
            fcntl.flock(folder, fcntl.LOCK_UN)
        except OSError:
            pass  # whoever opened the folder is about to close it, which lets go of the lock too


def read(folder: int, name: str) -> tuple[bytes, os.stat_result] | None:
    """Return a private file's bytes and status, None when there is none. Raises ConfigurationError."""
    # O_NONBLOCK: a FIFO in the place of the file must be refused, not waited for.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{name!r} cannot be opened: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        check_file(status, name)
        data = b""
        while len(data) <= _MAX_BYTES and (chunk := os.read(descriptor, _MAX_BYTES + 1 - len(data))):
            data += chunk
    except OSError as error:
        raise ConfigurationError(f"{name!r} cannot be read: {error.strerror}") from error
    finally:
        release(descriptor)
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{name!r} is larger than such a file can be")
    return data, status


def write(folder: int, name: str, data: bytes) -> None:
    """Put *data* under *name* in one durable step, with mode 0600. The caller holds `exclusive`."""
    temporary = f"{name}.new"
    try:
        discard(folder, temporary)  # what a killed process left
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            try:
                _fill(descriptor, data)
            finally:
                release(descriptor)
            publish(folder, temporary, name)
        except BaseException:
            drop(folder, temporary)
            raise
    except OSError as error:
        raise ConfigurationError(f"{name!r} cannot be written: {error.strerror}") from error


def release(descriptor: int) -> None:
    """Close a descriptor, whatever the system says of it: see `sandbox.releasing`, which is not loaded for this."""
    try:
        os.close(descriptor)
    except OSError as error:
        # SAFETY: it is closed all the same, and what was written was synced before.
        if error.errno == errno.EBADF:
            raise


def _fill(descriptor: int, data: bytes) -> None:
    """Write *data* at the beginning of an open file, durably."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def has_room(folder: int, name: str, size: int) -> bool:
    """Say whether *name* is a private file of at least *size* bytes. Raises ConfigurationError where it is none."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ConfigurationError(f"{name!r} cannot be looked at: {error.strerror}") from error
    check_file(status, name)
    return status.st_size >= size


def reserve(folder: int, name: str, size: int) -> None:
    """Have *size* bytes of the disk under *name*, durably, for `write_reserved`. The caller holds `exclusive`."""
    try:
        if has_room(folder, name, size):
            return
    except ConfigurationError:
        pass  # what stands there is none of ours, or open to others
    write(folder, name, b" " * size)


def write_reserved(folder: int, spare: str, name: str, data: bytes) -> None:
    """Put *data* and spaces under *name* in one durable step, into what was reserved as *spare*.

    Where a disk writes over what it has, this takes no room, in blocks or in files. The caller holds `exclusive`.
    Raises ConfigurationError, also when too little was reserved: then *name* is as it was.
    """
    try:
        descriptor = os.open(spare, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            check_file(status, spare)
            if status.st_size < len(data):
                raise ConfigurationError(f"{spare!r} is too small for what is to be written")
            _fill(descriptor, data.ljust(status.st_size))
        finally:
            release(descriptor)
        publish(folder, spare, name)
    except OSError as error:
        raise ConfigurationError(f"{name!r} cannot be written: {error.strerror}") from error


def publish(folder: int, temporary: str, name: str) -> None:
    """Give a finished file its name, durably."""
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def drop(folder: int, name: str) -> None:
    """Remove a file that was not finished; whoever makes the next one removes what could not be removed here."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass  # the failure that led here is the one to report


def discard(folder: int, name: str) -> None:
    """Remove a file, if it is there."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
