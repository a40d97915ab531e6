"""Which file system a folder lies on, as the kernel lists its mounts.

For reports: what a file system really does is tried elsewhere (`features.py`), and never inferred from its name.
"""

from __future__ import annotations

import os
from typing import Final

from sandbox import _linux
from sandbox.beneath import Descriptor
from sandbox.records import record
from sandbox.resolve import LOOK_FOLDER
from sandbox.root import Place

_MAX_BYTES: Final = 1 << 22
_ID, _OPTIONS = 0, 5
_SEPARATOR: Final = b"-"


@record
class FileSystem:
    """The file system of a folder: its kind as the kernel calls it (`ext4`), and whether it is mounted read-only."""

    kind: str
    read_only: bool


def identify(place: Place) -> FileSystem | None:
    """Return the file system of *place*.

    None where the folder is another one by now, or where /proc or the number of its mount is missing.
    """
    try:
        with Descriptor(os.open(place.path, LOOK_FOLDER | os.O_CLOEXEC)) as folder:
            status, seen = os.fstat(folder), _linux.glance(folder)
        if (status.st_dev, status.st_ino) != place.identity or seen.by_device:
            return None
        with open("/proc/self/mountinfo", "rb") as listing:
            lines = listing.read(_MAX_BYTES).splitlines()
        return next((_read(line) for line in lines if int(line.split()[_ID]) == seen.mount[1]), None)
    except (OSError, ValueError, IndexError):
        return None


def _read(line: bytes) -> FileSystem:
    # proc(5): fields of variable number end with a lone hyphen; then come kind, source and the whole's options.
    fields = line.split()
    after = fields.index(_SEPARATOR, _OPTIONS) + 1
    options = {*fields[_OPTIONS].split(b","), *fields[after + 2].split(b",")}
    return FileSystem(fields[after].decode("ascii", "replace"), read_only=b"ro" in options)
