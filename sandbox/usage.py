"""How much a tree holds, counted in bounded steps, and how much is free on its file system.

No file system gives an unprivileged process a quota for one folder, so what a tree holds must be counted. What
is done with the numbers is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing

from sandbox.beneath import Beneath, Descriptor
from sandbox.errors import Missing, NotAFolder, SandboxError
from sandbox.names import ROOT, RelPath
from sandbox.policy import Mounts
from sandbox.records import record
from sandbox.reports import reporting
from sandbox.resolve import LOOK_FOLDER, READ_FOLDER


@record
class Space:
    """A file system, in bytes: what is *free* for whoever has no privileges, and its *total* size.

    Both are 0 where it does not tell.
    """

    free: int
    total: int


def space(tree: Beneath, path: RelPath) -> Space:
    """Return the space where *path* is or would be made; see `Root.space`."""
    if tree.policy.mounts is Mounts.REFUSE:
        return _space(tree.fd, path)
    while True:
        try:
            with tree.open(path, LOOK_FOLDER) as folder:
                return _space(folder, path)
        except (Missing, NotAFolder):
            if path == ROOT:
                raise
            path = path.parent


def _space(descriptor: int, shown: RelPath) -> Space:
    with reporting(shown):
        status = os.fstatvfs(descriptor)
    return Space(status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize)


class Tally:
    """Counts everything beneath a root, some of it in each `step`. For one thread at a time; close it.

    Every name is an entry, whatever it is: folders and links, hidden ones, the trash, our own temporaries. The
    bytes are the sizes of the files, as often as they have names here. What changes meanwhile is counted as it
    was or as it is. Of a folder that cannot be read, or lies on another mount, only its name is counted. A folder
    is held open from step to step.
    """

    def __init__(self, tree: Beneath, *, clock: Callable[[], float]) -> None:
        self.bytes = 0
        self.entries = 0
        self._tree = tree
        self._clock = clock
        self._work = self._count()

    def step(self, seconds: float) -> bool:
        """Go on for about *seconds*, by one entry at least; return whether all is counted.

        Raises RootUnusable when the root is closed.
        """
        end = self._clock() + seconds
        return all(self._clock() < end for _ in self._work)

    def close(self) -> None:
        """Let go of the folder that is open. A later step finds everything counted."""
        self._work.close()

    def _count(self) -> Generator[None, None, None]:
        waiting: list[tuple[bytes, ...]] = [()]
        while waiting:
            parts, root = waiting.pop(), self._tree.fd
            try:
                descriptor = self._tree.plain.open(root, parts, READ_FOLDER)
            except SandboxError:
                continue  # a mount, gone, not ours to read, or too deep to be named
            with Descriptor(descriptor) as folder, closing(_entries(folder)) as entries:
                for entry in entries:
                    self.entries += 1
                    if _is_folder(entry):
                        waiting.append((*parts, os.fsencode(entry.name)))
                    else:
                        self.bytes += _size(entry)
                    yield


def _entries(folder: int) -> Generator[os.DirEntry[str], None, None]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # what of it cannot be read is not counted


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else 0
    except OSError:
        return 0  # gone meanwhile
