"""The way to a folder from the top of the tree: who could exchange a folder on it, and who can pass.

A path that was checked proves nothing once somebody else may rename a folder on it. So every folder of the way is
opened in the one above it, following no link, and looked at by its descriptor. Where each of them belongs to root and
nobody else may rename in it, the path leads there for as long as root leaves it so.

Limits: rights are read from owners and modes. A list of access rights that takes a right away, or another security
module, is not seen; one that gives somebody the right to write shows in the mode.
"""

from __future__ import annotations

import os
import stat
from types import TracebackType
from typing import Final, Self

from sandbox import _linux
from sandbox.records import record
from sandbox.releasing import release

_LOOK: Final = _linux.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@record
class Step:
    """One folder of the way, as it was when it was opened."""

    path: str
    status: os.stat_result


class Approach:
    """The folders from `/` to the one at *path*, which is held open. Close it."""

    def __init__(self, path: str) -> None:
        """Open *path*, absolute and without links, folder by folder. Raises OSError."""
        self.path: Final = path
        names = [name for name in path.split("/") if name]
        self._fd = os.open("/", _LOOK)
        steps = [Step("/", os.fstat(self._fd))]
        try:
            for number, name in enumerate(names, start=1):
                above, self._fd = self._fd, os.open(name, _LOOK, dir_fd=self._fd)
                release(above)
                steps.append(Step("/" + "/".join(names[:number]), os.fstat(self._fd)))
        except BaseException:
            self.close()
            raise
        self.steps: Final = tuple(steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def fd(self) -> int:
        """The descriptor of the last folder: to open things in it, not to read it."""
        return self._fd

    def close(self) -> None:
        """Let go of the folder; a second time does nothing."""
        folder, self._fd = self._fd, -1
        if folder >= 0:
            release(folder)

    def exchangeable(self) -> str | None:
        """Return the first folder in which somebody but root could exchange what the way goes on to, or None.

        Where a folder is sticky, what is root's in it can be renamed by root alone; of the last one, in which anything
        may lie, that is not enough.
        """
        for step, after in zip(self.steps, (*self.steps[1:], None), strict=True):
            mode = step.status.st_mode
            is_open = bool(mode & (stat.S_IWGRP | stat.S_IWOTH))
            is_kept = after is not None and bool(mode & stat.S_ISVTX) and after.status.st_uid == 0
            if step.status.st_uid != 0 or (is_open and not is_kept):
                return step.path
        return None

    def closed_to(self, user: int, group: int) -> str | None:
        """Return the first folder that *user*, in no other group than *group*, cannot pass, or None."""
        for step in self.steps:
            status = step.status
            if status.st_uid == user:
                needed = stat.S_IXUSR
            elif status.st_gid == group:
                needed = stat.S_IXGRP
            else:
                needed = stat.S_IXOTH
            if not status.st_mode & needed:
                return step.path
        return None
