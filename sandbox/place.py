"""Where a directory was when it was opened, and which one it was: a path may lead elsewhere by the next time."""

from __future__ import annotations

import os

from sandbox.records import record


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
