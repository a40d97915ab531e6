"""A tree of files for one test, written in lines that can be read.

    disk.build("secret.md: secret", "root/inbox => ../", "root/sub/", "root/pipe | fifo", "root/b.md == a.md")

makes a file, a symbolic link (the target is written as it stands), a folder, a FIFO and a hard link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from enum import StrEnum

from sandbox.policy import Policy
from sandbox.resolve import ResolverChoice
from sandbox.root import Root
from sandbox.steps import ignore


class Tree:
    """A temporary folder; paths are relative to it. `open_root` uses the resolver of the test."""

    def __init__(self, base: str | os.PathLike[str], resolver: ResolverChoice = "auto") -> None:
        self.base = os.fspath(base)
        self.resolver: ResolverChoice = resolver

    def path(self, relative: str | bytes = "") -> str:
        """Return the absolute path."""
        return os.path.join(self.base, os.fsdecode(relative))

    def build(self, *lines: str) -> None:
        """Make what the lines say; folders on the way are made too."""
        for line in lines:
            self._build(line)

    def _build(self, line: str) -> None:
        for separator, make in (
            (" => ", lambda path, rest: os.symlink(rest, path)),
            (" == ", lambda path, rest: os.link(self.path(rest), path)),
            (" | ", self._make_special),
            (": ", self._write),
        ):
            name, found, rest = line.partition(separator)
            if found:
                path = self.path(name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                make(path, rest)
                return
        os.makedirs(self.path(line), exist_ok=True)

    @staticmethod
    def _write(path: str, text: str) -> None:
        with open(path, "wb") as file:
            file.write(text.encode())

    @staticmethod
    def _make_special(path: str, what: str) -> None:
        match what:
            case "fifo":
                os.mkfifo(path)
            case "socket":
                os.mknod(path, stat.S_IFSOCK | 0o600)
            case "device":
                os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            case _:
                raise ValueError(what)

    def read(self, relative: str) -> bytes:
        """Return a file's bytes, as the OS finds it."""
        with open(self.path(relative), "rb") as file:
            return file.read()

    def write(self, relative: str, data: bytes) -> None:
        """Write a file in place, as a stranger does."""
        with open(self.path(relative), "wb") as file:
            file.write(data)

    def save(self, relative: str, data: bytes) -> None:
        """Save a file by renaming over it, as editors do."""
        aside = self.path(relative) + ".editor"
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, self.path(relative))

    def chmod(self, relative: str, mode: int) -> None:
        """Set the mode of what stands there."""
        os.chmod(self.path(relative), mode)

    def exists(self, relative: str) -> bool:
        """Whether anything stands there, a link itself included."""
        return os.path.lexists(self.path(relative))

    def snapshot(self, relative: str = "") -> dict[str, object]:
        """Return everything beneath: text of files, targets of links, kinds of the rest."""
        found: dict[str, object] = {}
        start = self.path(relative)
        for folder, folders, files in os.walk(start):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                found[os.path.relpath(path, start)] = _describe(path)
        return found

    def open_root(
        self,
        relative: str = "root",
        policy: Policy = Policy(),  # noqa: B008 - frozen
        *,
        observe: Callable[[StrEnum], None] = ignore,
        lock_file: str | None = None,
        lock_folder: tuple[int, int] | None = None,
    ) -> Root:
        """Open a root in this tree with the test's resolver; the folder is made if it is missing."""
        os.makedirs(self.path(relative), exist_ok=True)
        return Root.open(
            self.path(relative),
            policy,
            resolver=self.resolver,
            observe=observe,
            lock_file=lock_file,
            lock_folder=lock_folder,
        )


def _describe(path: str) -> object:
    status = os.lstat(path)
    if stat.S_ISREG(status.st_mode):
        if status.st_size > 1 << 24:
            return status.st_size
        with open(path, "rb") as file:
            return file.read()
    if stat.S_ISLNK(status.st_mode):
        return "=> " + os.readlink(path)
    return {stat.S_IFDIR: "folder", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}.get(
        stat.S_IFMT(status.st_mode), "special"
    )


class Interruption:
    """An observer that does something once, right after one step; for forcing an interleaving."""

    def __init__(self, step: StrEnum, action: Callable[[], object]) -> None:
        self._step = step
        self._action = action
        self.happened = False

    def __call__(self, step: StrEnum) -> None:
        if step is self._step and not self.happened:
            self.happened = True
            self._action()
