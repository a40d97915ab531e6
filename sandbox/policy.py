"""Which objects beneath a root may be opened (links, hard links, mounts, kinds, sizes), and how much it may hold.

How a path is walked under these rules is `resolve.py`'s part; who may ask at all is nobody's here.
"""

from __future__ import annotations

import os
import stat
from enum import Enum
from typing import Final

from sandbox.errors import HardLinkRefused, NotRegular, ObjectRefused, TooLarge
from sandbox.names import RelPath
from sandbox.records import record

DEFAULT_FILE_BYTES: Final = 1_048_576
DEFAULT_ENTRIES: Final = 200_000

MOST_ENTRIES: Final = 10_000_000
"""What is counted at most: a root with a quota that holds more is full."""

USUAL_FREE_BYTES: Final = 100 * 1_048_576
USUAL_FREE_SHARE: Final = 20
"""What stays free unless somebody says otherwise: so many bytes, or one part in so many of a small disk."""


class Links(Enum):
    """What to do with a symbolic link in a path."""

    REFUSE = "refuse"
    """A link is refused wherever it stands, also one that points to the inside."""

    WITHIN = "within"
    """A link is followed as long as no step of it leaves the root; absolute links are refused."""


class HardLinks(Enum):
    """What to do with a file that has more than one name (the other one may lie outside)."""

    REFUSE = "refuse"
    ALLOW = "allow"


class Mounts(Enum):
    """What to do with a mount point beneath the root."""

    REFUSE = "refuse"
    ALLOW = "allow"


@record
class Policy:
    """The rules of one root. The defaults are the strictest.

    Only regular files are ever opened, whatever the policy. `max_entries` bounds one folder.
    """

    links: Links = Links.REFUSE
    hard_links: HardLinks = HardLinks.REFUSE
    mounts: Mounts = Mounts.REFUSE
    max_file_bytes: int = DEFAULT_FILE_BYTES
    max_entries: int = DEFAULT_ENTRIES

    def __post_init__(self) -> None:
        if self.max_file_bytes < 0 or self.max_entries < 1:
            raise ValueError("a policy's bounds must be positive")

    def fault(self, status: os.stat_result) -> type[ObjectRefused] | None:
        """Return as what an object is refused; None for a regular file that this policy accepts."""
        if not stat.S_ISREG(status.st_mode):
            return NotRegular
        # A file that lost its last name while it was open has none, and is still what was looked at.
        if status.st_nlink > 1 and self.hard_links is not HardLinks.ALLOW:
            return HardLinkRefused
        return TooLarge if status.st_size > self.max_file_bytes else None

    def judge(self, path: RelPath, status: os.stat_result) -> None:
        """Refuse the object at *path* unless it is a regular file that this policy accepts.

        Raises NotRegular, HardLinkRefused or TooLarge.
        """
        fault = self.fault(status)
        if fault is TooLarge:
            raise TooLarge(str(path), limit=self.max_file_bytes)
        if fault is not None:
            raise fault(str(path))


@record
class Quota:
    """How much a root may hold, all in all, and how much must stay free on its file system.

    Without a number for the first two there is no bound, and nothing is counted. `min_free_bytes` is usually 100 MiB,
    with which the host can still be worked on and put right, or a twentieth of a file system of less than 2 GB.
    """

    max_bytes: int | None = None
    max_entries: int | None = None
    min_free_bytes: int | None = None

    def __post_init__(self) -> None:
        if not (_is_none_or(self.max_bytes, 1) and _is_none_or(self.max_entries, 1)):
            raise ValueError("a quota's bounds must be positive")
        if not (self.max_entries or 0) <= MOST_ENTRIES:
            raise ValueError("more entries than are counted")
        if not _is_none_or(self.min_free_bytes, 0):
            raise ValueError("what must stay free cannot be negative")

    @property
    def counts(self) -> bool:
        """Whether it must be known how much the root holds."""
        return self.max_bytes is not None or self.max_entries is not None

    def floor(self, total: int) -> int:
        """Return how many bytes must stay free on a file system of *total* bytes."""
        if self.min_free_bytes is not None:
            return self.min_free_bytes
        return min(USUAL_FREE_BYTES, total // USUAL_FREE_SHARE)


def _is_none_or(number: int | None, least: int) -> bool:
    return number is None or number >= least
