"""What a root tells about the objects in it: identities, kinds, entries, contents.

Values only. Reading them from the disk is `reading.py`'s part.
"""

from __future__ import annotations

import os
import stat
from enum import Enum
from typing import Final, NamedTuple

from sandbox.names import RelPath
from sandbox.records import record

MAX_UNNAMEABLE: Final = 50
"""How many names that cannot be sent as text a listing shows; it counts them all."""


@record
class FileIdentity:
    """Which file it was, and whether it has been written since.

    `key` is what comparisons use. It cannot see a write in place that keeps the size and falls on the same
    tick of the file system's clock; who must be sure compares the bytes.
    """

    dev: int
    ino: int
    size: int
    mtime_ns: int
    mode: int
    nlink: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileIdentity:
        """Take the identity out of a stat result."""
        return cls(
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_mode,
            status.st_nlink,
        )

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What must be equal for "still the same": never ctime, which a rename changes."""
        return (self.dev, self.ino, self.size, self.mtime_ns)

    def is_same_file(self, other: FileIdentity) -> bool:
        """Say whether both are one inode, written since or not."""
        return (self.dev, self.ino) == (other.dev, other.ino)


Numbers = tuple[int, int, int]
"""A file's inode, size and time of its last write in nanoseconds: what is compared where many are."""


class Kind(Enum):
    """What stands at a name."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"
    """A FIFO, socket or device; or a mount point that the policy refuses."""

    @classmethod
    def of(cls, mode: int) -> Kind:
        """Classify the mode of a stat result."""
        if stat.S_ISREG(mode):
            return cls.FILE
        if stat.S_ISDIR(mode):
            return cls.FOLDER
        if stat.S_ISLNK(mode):
            return cls.LINK
        return cls.OTHER


@record
class Stamp:
    """Which folder it was, and when its names (or it itself) last changed.

    By its ctime, in nanoseconds: nobody can set it back, as programs do with the other times. It ticks as coarsely as
    the file system's clock.
    """

    dev: int
    ino: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Take the stamp out of a stat result."""
        return cls(status.st_dev, status.st_ino, status.st_ctime_ns)


class Entry(NamedTuple):
    """One name in a folder. `identity` is there for files and folders, when it was asked for.

    `inode` is what the folder says of the name: of a mount point, that of what is covered. 0 for a link.
    """

    # A tuple, since long folders have many of them: it is made in half the time that a record takes.

    name: str
    kind: Kind
    identity: FileIdentity | None = None
    inode: int = 0


@record
class Listing:
    """One folder: `entries` sorted by name, and the names that no RelPath can hold.

    `unnameable` are forms for people (`names.display`) of names that are not UTF-8 or have a backslash, of the
    first MAX_UNNAMEABLE of them by name; `unnameable_count` counts all. Hidden ones are left out of both.
    `stamp` is the folder's before it was listed.
    """

    entries: tuple[Entry, ...]
    stamp: Stamp
    unnameable: tuple[str, ...] = ()
    unnameable_count: int = 0


@record
class Content:
    """A file's bytes, and the identity it had before they were read."""

    data: bytes
    identity: FileIdentity


@record
class Replaced:
    """The identity of the file that holds the text, and what of the former one could not be kept."""

    identity: FileIdentity
    not_kept: tuple[str, ...] = ()


@record
class TrashedFile:
    """The one file in a trash entry: where it was, and which it is."""

    path: RelPath
    identity: FileIdentity


@record
class SweepReport:
    """How many temporaries went to the trash, and whether the whole tree was looked at."""

    moved: int
    complete: bool = True
