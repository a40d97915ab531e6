"""What may have changed beneath a root, as a bounded set of paths that is emptied by whoever has looked at them.

A path stays marked until somebody says that what stood there at a *generation* has been dealt with, so that one who
answers meanwhile still knows it. Who finds out what changed is `watches.py`'s part.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from enum import Enum
from typing import Final

from sandbox.names import ROOT, RelPath, is_hidden
from sandbox.records import record

MAX_PATHS: Final = 10_000
"""How many paths are kept, before all that is known is that something has changed somewhere."""

MAX_STANDING: Final = 1_000
"""How many folders that cannot be watched, and how many links, are named, before it is all of the root."""

_NOWHERE: Final = -1


class Reason(Enum):
    """Why a folder is not watched."""

    WALKING = "the folders are being looked through"
    LIMIT = "the limit of watches or open files is reached"
    DENIED = "there is no permission to read it"
    FAILED = "it cannot be read"
    TOO_MANY = "too many folders cannot be watched"
    GONE = "it was removed"
    STOPPED = "the watcher has ended"


@record
class Unwatched:
    """A folder with all beneath it, of which no change is told."""

    path: RelPath
    reason: Reason


@record
class Dirty:
    """What may differ from when it was last looked at. What is in none of these does not.

    `files` are single paths: written, made, removed, or become something else. `folders` are to be looked at with all
    beneath them, and may be gone, or be files or links. Of `listings` the names that no RelPath can hold have
    changed, and nothing else. `unwatched` are to be looked at each time, with all beneath them. With `everything` the
    whole root is, and the rest says no more than that. What is hidden is never among these.
    """

    generation: int
    everything: bool
    files: frozenset[RelPath]
    folders: frozenset[RelPath]
    listings: frozenset[RelPath]
    unwatched: tuple[Unwatched, ...]

    def covers(self, path: RelPath) -> bool:
        """Say whether what stands at *path* may differ."""
        if self.everything or path in self.files:
            return True
        above = {path, *_above(path)}
        return not above.isdisjoint(self.folders) or any(each.path in above for each in self.unwatched)

    def __bool__(self) -> bool:
        return self.everything or bool(self.files or self.folders or self.listings or self.unwatched)


def _above(path: RelPath) -> Iterable[RelPath]:
    while path.parts:
        path = path.parent
        yield path


class Marks:
    """The marks of one root. Safe to use from several threads; no call waits for more than another call.

    Everything is marked at the beginning. More than *bound* paths become everything.
    """

    def __init__(self, *, bound: int = MAX_PATHS) -> None:
        self._bound = bound
        self._mutex = threading.Lock()
        self._generation = 1
        self._looked = 0
        self._everything = self._generation
        self._files: dict[RelPath, int] = {}
        self._folders: dict[RelPath, int] = {}
        self._listings: dict[RelPath, int] = {}
        self._links: frozenset[RelPath] = frozenset()
        self._unwatched: tuple[Unwatched, ...] = ()
        self._seen: Dirty | None = None

    @property
    def generation(self) -> int:
        """A number that grows with each mark, and never else."""
        return self._generation

    @property
    def unwatched(self) -> tuple[Unwatched, ...]:
        """The folders of which no change is told."""
        return self._unwatched

    # -- marking -------------------------------------------------------------------------------

    def file(self, path: RelPath) -> None:
        """Mark one path."""
        self._put(self._files, path)

    def folder(self, path: RelPath) -> None:
        """Mark a folder with all beneath it; the root is everything."""
        if path.parts:
            self._put(self._folders, path)
        else:
            self.everything()

    def listing(self, path: RelPath) -> None:
        """Mark those names of a folder that no RelPath can hold."""
        self._put(self._listings, path)

    def everything(self) -> None:
        """Mark all of the root."""
        with self._mutex:
            self._mark_everything()

    def _put(self, where: dict[RelPath, int], path: RelPath) -> None:
        if is_hidden(path):
            return
        with self._mutex:
            self._generation += 1
            self._seen = None
            # What nobody has looked at since it was marked covers this one too. What somebody has seen does not: it
            # may be cleared for them.
            if self._everything > self._looked or self._is_covered(path):
                return
            where[path] = self._generation
            if len(self._files) + len(self._folders) + len(self._listings) > self._bound:
                self._mark_everything()

    def _is_covered(self, path: RelPath) -> bool:
        folders = self._folders
        return bool(folders) and any(
            folders.get(each, _NOWHERE) > self._looked for each in (path, *_above(path))
        )

    def _mark_everything(self) -> None:
        self._generation += 1
        self._everything = self._generation
        self._seen = None
        for marked in (self._files, self._folders, self._listings):
            marked.clear()

    # -- what stands ---------------------------------------------------------------------------

    def stand(self, unwatched: Iterable[Unwatched], links: Iterable[RelPath]) -> None:
        """Say which folders are not watched, MAX_STANDING at the most, and which links are followed.

        What is seen through a link changes with what it leads to, so a link is dirty as soon as anything is.
        """
        known, followed = tuple(unwatched), frozenset(links)
        if len(followed) > MAX_STANDING:
            followed = frozenset({ROOT})
        with self._mutex:
            if (known, followed) != (self._unwatched, self._links):
                self._unwatched, self._links = known, followed
                self._generation += 1
                self._seen = None

    # -- looking and clearing ------------------------------------------------------------------

    def look(self) -> Dirty:
        """Return what is marked. It stays so until it is cleared."""
        with self._mutex:
            return self._look()

    def _look(self) -> Dirty:
        if self._seen is None:
            files, folders = frozenset(self._files), frozenset(self._folders)
            everything = bool(self._everything) or any(each.path == ROOT for each in self._unwatched)
            if files or folders or self._unwatched:
                everything = everything or ROOT in self._links
                folders |= self._links
            self._seen = Dirty(
                self._generation, everything, files, folders, frozenset(self._listings), self._unwatched
            )
        self._looked = self._generation
        return self._seen

    def clear(self, *, through: int, only: Iterable[RelPath] | None = None) -> None:
        """Forget what was marked up to the generation *through*: somebody has looked at all of it since.

        With *only*, just these files, folders and listings. What was marked later stays, and so does what is not
        watched.
        """
        with self._mutex:
            self._clear(through, only)

    def _clear(self, through: int, only: Iterable[RelPath] | None) -> None:
        self._seen = None
        if only is None and self._everything <= through:
            self._everything = 0
        chosen = None if only is None else list(only)
        for marked in (self._files, self._folders, self._listings):
            for path in list(marked) if chosen is None else chosen:
                if marked.get(path, through + 1) <= through:
                    del marked[path]

    def take(self) -> Dirty:
        """Return what is marked and forget it, in one step: for one who looks at all of it."""
        with self._mutex:
            found = self._look()
            self._clear(found.generation, None)
            return found
