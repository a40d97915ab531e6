"""Temporary files beside their destination: written whole, synced, named later, or removed.

A temporary that a kill leaves behind is found by its prefix (`sweeping.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from sandbox.objects import FileIdentity
from sandbox.records import record
from sandbox.releasing import release
from sandbox.renaming import lstat, temporary_name
from sandbox.steps import Observer, Step

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

SHARED: Final = 0o666
"""Mode of a file that is created for people, before the umask and default ACLs apply."""


@record
class TemporarySteps:
    """Which steps the observer is told of."""

    made: Step
    written: Step
    synced: Step


@record
class Temporary:
    """A finished temporary: its name in the folder and the identity that our text has."""

    name: bytes
    identity: FileIdentity


def write_temporary(
    folder: int,
    data: bytes,
    *,
    mode: int,
    finish: Callable[[int], None],
    durable: bool,
    steps: TemporarySteps,
    observe: Observer,
) -> Temporary:
    """Make a temporary in *folder* with *data* in it; *finish* gets its descriptor before it is synced.

    When anything fails (no room, no permission), the temporary is removed and the OSError travels.
    """
    name = temporary_name()
    fd = os.open(name, _NEW_FILE, mode, dir_fd=folder)
    try:
        try:
            observe(steps.made)
            write_all(fd, data)
            observe(steps.written)
            finish(fd)
            if durable:
                os.fsync(fd)
                observe(steps.synced)
            return Temporary(name, FileIdentity.of(os.fstat(fd)))
        except BaseException:
            discard(folder, Temporary(name, FileIdentity.of(os.fstat(fd))))
            raise
    finally:
        release(fd)


def discard(folder: int, temporary: Temporary) -> None:
    """Remove the temporary if its name still holds our own text; what is anybody else's stays."""
    # SAFETY: compared by key, since an inode number is given again once its file is gone. The name has 96
    # random bits and nobody is told it, so what stands there between this look and the removal is what was
    # looked at. A program that deletes or replaces what it did not make could break this.
    try:
        if lstat(folder, temporary.name).key == temporary.identity.key:
            os.unlink(temporary.name, dir_fd=folder)
    except OSError:
        pass  # the failure that led here is the one to report; the sweeper finds what is left


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data*, in as many calls as the kernel wants. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
