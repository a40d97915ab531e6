"""Where a directory was when it was opened, and which one it was: a path may lead elsewhere by the next time."""

from __future__ import annotations

import os
import stat
from typing import Final

from sandbox.errors import RootUnusable
from sandbox.records import record
from sandbox.releasing import release

# To look at what is in a folder is all that is needed; macOS has no such flag and opens it.
_LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@record
class Place:
    """A path, and the device and inode of the directory that it led to."""

    path: str
    identity: tuple[int, int]

    def still_holds(self) -> bool:
        """Say whether the path still leads to that very directory (or it was moved, replaced or removed)."""
        try:
            status = os.stat(self.path)
        except (OSError, ValueError):
            return False
        return (status.st_dev, status.st_ino) == self.identity


def place_in(path: str, name: str, *, identity: tuple[int, int] | None = None) -> Place:
    """Return where the folder *name* in the folder at *path* is, which must have this *identity* if it is known.

    Raises RootUnusable where there is no such folder, or a link.
    """
    try:
        folder = os.open(path, _LOOK)
        try:
            above = os.fstat(folder)
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        finally:
            release(folder)
    except (OSError, ValueError) as error:
        raise RootUnusable("there is no such folder") from error
    if identity not in (None, (above.st_dev, above.st_ino)) or not stat.S_ISDIR(status.st_mode):
        raise RootUnusable("the folder was moved or replaced")
    return Place(os.path.join(path, name), (status.st_dev, status.st_ino))
