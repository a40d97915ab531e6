"""Decides when the log begins a new file, what the older ones are called, and which of them are removed.

The log is `audit.jsonl`; a file that has reached its bound becomes `audit-000001.jsonl`, `audit-000002.jsonl`, ...,
so that the numbers are the order. It is one rename under the lock of that file, which never overwrites anything, so a
kill at any instant leaves every line where it is found. Lines are evidence: unless a number of files is configured,
none is ever removed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from sandbox.errors import Unsettled
from sandbox.records import record
from sandbox.releasing import release
from sandbox.renaming import move_to_private

MAX_BYTES: Final = 64 * 1_048_576

ROOM: Final = 1_048_576
"""Bytes that must be free for a new file: on a full disk, a line goes where there is room for it."""

SETTLED_SECONDS: Final = 3600.0
"""A file is not removed before nothing was written to it for so long: as long as a call may be allowed to take."""

_MOST: Final = 999_999_999
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class RotationStep(StrEnum):
    """What has been done when the observer is told: kill tests end the process there."""

    RENAMED = "renamed"
    BEGUN = "begun"
    DURABLE = "durable"
    REMOVED = "removed"


@record
class Rotation:
    """The bound of one file, in bytes, and how many older files are kept; None keeps all."""

    max_bytes: int = MAX_BYTES
    keep: int | None = None


DEFAULT: Final = Rotation()


def ignore(step: RotationStep) -> None:
    """Observe nothing."""


def older_name(name: str, number: int) -> str:
    """Return what the older file *number* of the log *name* is called."""
    stem, suffix = os.path.splitext(name)
    return f"{stem}-{number:06d}{suffix}"


def numbers(folder: int, name: str) -> list[int]:
    """Return the numbers of the names in an opened *folder* that older files of the log *name* have, in order.

    Whether what is called so is a file of ours is for who opens it.
    """
    stem, suffix = os.path.splitext(name)
    form = re.compile(rf"{re.escape(stem)}-([0-9]{{6,9}}){re.escape(suffix)}")
    found = [(each, int(match[1])) for each in os.listdir(folder) if (match := form.fullmatch(each))]
    # Seven digits of which the first is a zero are somebody else's idea.
    return sorted(number for each, number in found if each == older_name(name, number))


def rotate(path: str, *, observe: Callable[[RotationStep], None]) -> bool:
    """Rename the log at *path*, which the caller has locked, and begin a new file; False where that cannot be.

    Then the log goes on in the file that it has. Never raises OSError: the line that led here is written.
    """
    where, name = os.path.split(path)
    try:
        folder = os.open(where, _FOLDER)
    except OSError:
        return False
    try:
        return _begin_new(folder, name, observe)
    except (OSError, Unsettled):
        return False
    finally:
        release(folder)


def _begin_new(folder: int, name: str, observe: Callable[[RotationStep], None]) -> bool:
    space = os.fstatvfs(folder)
    taken = numbers(folder, name)
    number = taken[-1] + 1 if taken else 1
    if space.f_bavail * space.f_frsize < ROOM or number > _MOST:
        return False
    older = older_name(name, number)
    move_to_private(folder, name.encode(), folder, older.encode())
    observe(RotationStep.RENAMED)
    try:
        release(os.open(name, _NEW, 0o600, dir_fd=folder))
    except OSError:
        # There is no room for a file, but perhaps for lines. Where another process made one meanwhile, it stays.
        move_to_private(folder, older.encode(), folder, name.encode())
        raise
    observe(RotationStep.BEGUN)
    return True


def complete(path: str, rotation: Rotation, *, now: float, observe: Callable[[RotationStep], None]) -> None:
    """Make the names of a rotation durable, and remove the oldest files if that is asked for.

    Needs no lock, and may wait for the disk. Never raises OSError: neither the lines nor the order depend on it.
    """
    where, name = os.path.split(path)
    try:
        folder = os.open(where, _FOLDER)
    except OSError:
        return
    try:
        os.fsync(folder)
        observe(RotationStep.DURABLE)
        if rotation.keep is not None:
            _remove_oldest(folder, name, rotation.keep, before=now - SETTLED_SECONDS)
            observe(RotationStep.REMOVED)
    except OSError:
        pass
    finally:
        release(folder)


def _remove_oldest(folder: int, name: str, keep: int, *, before: float) -> None:
    own = [number for number in numbers(folder, name) if _is_own(folder, older_name(name, number))]
    for number in own[:-keep]:
        older = older_name(name, number)
        if os.stat(older, dir_fd=folder, follow_symlinks=False).st_mtime >= before:
            return  # a change whose line stands in it may not be settled yet
        os.unlink(older, dir_fd=folder)


def _is_own(folder: int, name: str) -> bool:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
