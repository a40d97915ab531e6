"""Which objects beneath a root may be opened: links, hard links, mounts, kinds and sizes.

How a path is walked under these rules is `resolve.py`'s part; who may ask at all is nobody's here.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sandbox.errors import HardLinkRefused, NotRegular, TooLarge
from sandbox.names import RelPath

DEFAULT_FILE_BYTES: Final = 1_048_576
DEFAULT_ENTRIES: Final = 200_000


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


@dataclass(frozen=True, slots=True)
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

    def judge(self, path: RelPath, status: os.stat_result) -> None:
        """Refuse the object at *path* unless it is a regular file that this policy accepts.

        Raises NotRegular, HardLinkRefused or TooLarge.
        """
        if not stat.S_ISREG(status.st_mode):
            raise NotRegular(str(path))
        # A file that lost its last name while it was open has none, and is still what was looked at.
        if status.st_nlink > 1 and self.hard_links is not HardLinks.ALLOW:
            raise HardLinkRefused(str(path))
        if status.st_size > self.max_file_bytes:
            raise TooLarge(str(path), limit=self.max_file_bytes)
