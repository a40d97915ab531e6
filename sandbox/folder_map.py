"""Where each watched folder is: a tree of folders that is corrected as folders are found, moved and lost.

A folder is known by the number of its watch, which it keeps when it moves; so a moved folder takes all beneath it along
in one step. Nothing is opened here: what is true of the disk is found out by `watches.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sandbox.errors import InvalidPath
from sandbox.marks import MAX_STANDING, Reason, Unwatched
from sandbox.names import ROOT, RelPath

NO_WATCH: Final = -1


class Folder:
    """A folder in the map. Without a parent it is the root, or has no place (any more)."""

    __slots__ = ("aliases", "children", "name", "parent", "seen", "watch")

    def __init__(self, watch: int = NO_WATCH, seen: int = 0) -> None:
        self.watch = watch
        self.seen = seen
        """The walk that found it last."""
        self.parent: Folder | None = None
        self.name = ""
        self.children: dict[str, Folder] = {}
        self.aliases: set[str] = set()
        """Names in it that lead to something which is watched elsewhere, if at all: links, and second mounts."""


class FolderMap:
    """The folders beneath one root; *release* ends the watch of one that is dropped."""

    def __init__(self, release: Callable[[int], None]) -> None:
        self.root: Final = Folder()
        self.watched: Final[dict[int, Folder]] = {}
        """By the numbers of their watches, those without a place too."""
        self.unwatched: Final[dict[Folder, Reason]] = {}
        """Folders of which, or of what is in them, nothing is told."""
        self._with_aliases: set[Folder] = set()
        self._release = release

    def path(self, folder: Folder) -> RelPath | None:
        """Return where *folder* is; None when it has no place."""
        parts = []
        each = folder
        while each.parent is not None:
            parts.append(each.name)
            each = each.parent
        if each is not self.root:
            return None
        parts.reverse()
        try:
            return RelPath(tuple(parts))
        except InvalidPath:
            return None  # it was moved to where its path is too long or too deep

    def standing(self) -> tuple[list[Unwatched], list[RelPath]]:
        """Return what is not watched, MAX_STANDING folders at the most, and the aliases."""
        aliased = {each for each in self._with_aliases if each.aliases}
        self._with_aliases = aliased
        for folder in [each for each in self.unwatched if each.parent is None and each is not self.root]:
            del self.unwatched[folder]
        aliases = [path.child(name) for each, path in self._placed(aliased) for name in each.aliases]
        if len(self.unwatched) > MAX_STANDING:
            return [Unwatched(ROOT, Reason.TOO_MANY)], aliases
        unwatched = [Unwatched(path, self.unwatched[each]) for each, path in self._placed(self.unwatched)]
        return sorted(unwatched, key=lambda each: each.path), aliases

    def _placed(self, folders: Iterable[Folder]) -> Iterator[tuple[Folder, RelPath]]:
        for folder in folders:
            path = self.path(folder)
            if path is not None:
                yield folder, path

    def add_alias(self, folder: Folder, name: str) -> None:
        """Note that *name* in *folder* leads to something which is watched elsewhere, if at all."""
        folder.aliases.add(name)
        self._with_aliases.add(folder)

    def lies_in(self, folder: Folder, other: Folder) -> bool:
        """Say whether *folder* is *other* or is beneath it."""
        each: Folder | None = folder
        while each is not None and each is not other:
            each = each.parent
        return each is not None

    def attach(self, folder: Folder, parent: Folder, name: str) -> None:
        """Give *folder*, which must not be above *parent*, that place; what the map has there is dropped."""
        self.detach(folder)
        self.forget(parent, name)
        folder.parent, folder.name = parent, name
        parent.children[name] = folder

    def detach(self, folder: Folder) -> None:
        """Take its place from *folder*."""
        if folder.parent is not None:
            del folder.parent.children[folder.name]
            folder.parent = None

    def forget(self, parent: Folder, name: str) -> None:
        """Drop what the map has at *name*."""
        parent.aliases.discard(name)
        child = parent.children.get(name)
        if child is not None:
            self.drop(child)

    def drop(self, folder: Folder) -> None:
        """Let go of *folder* and of all beneath it, and end their watches."""
        self.detach(folder)
        dropped = [folder]
        while dropped:
            each = dropped.pop()
            dropped += each.children.values()
            each.children = {}
            each.aliases = set()
            each.parent = None
            if self.watched.pop(each.watch, None) is not None:
                self._release(each.watch)
            each.watch = NO_WATCH
