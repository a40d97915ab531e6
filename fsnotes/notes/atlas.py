"""Which files a workspace holds, by id: walked once in short steps, then kept up by the times of its folders.

What links may lead to is in it: notes and all other files, but nothing hidden or ignored and no link that the policy
does not follow. Of a folder whose time is the same as when it was listed, the names are the same too; a folder that
had just been changed then is listed again, since its time may stand still within a tick of the file system's clock.

Limits: each use looks at every folder, which takes about 15 us. A folder that may not be listed, or has more entries
than the policy allows, has no files; one that cannot be, since the file system fails, has files that nobody knows, and
then nobody can say where links lead. Where links are followed every folder is listed each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from typing import Final

from fsnotes.errors import NotCounted
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.scope import Scope
from sandbox.errors import InvalidPath, SandboxError, StorageFailed
from sandbox.names import ROOT, RelPath
from sandbox.policy import Links
from sandbox.records import record
from sandbox.root import Entry, Kind, Root, Stamp

STEP_SECONDS: Final = 0.03
"""How long one call walks while nothing is known yet."""

STEADY_NS: Final = 2_000_000_000
"""How old a folder's time must be when it is listed, for the same time to mean the same names later: FAT's ticks."""

_Place = tuple[int, int]


@record
class _Folder:
    """A folder that was listed: its time, whether it can be trusted, the ids of its files, and what is below it."""

    stamp: Stamp
    steady: bool
    files: frozenset[str]
    below: tuple[tuple[RelPath, _Place | None], ...]


class Atlas:
    """The files of one workspace. Thread-safe."""

    def __init__(
        self,
        root: Root,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._root = root
        self._clock = clock
        self._now = now
        self._follows_links = root.policy.links is Links.WITHIN
        self._mutex = threading.Lock()
        self._folders: dict[RelPath, _Folder] = {}
        self._catalogue: Catalogue | None = None
        self._ignore: tuple[str, ...] = ()
        self._first: Generator[None, None, Catalogue] | None = None

    def catalogue(self, scope: Scope) -> Catalogue:
        """Return all files of the workspace, whatever folders *scope* has, without those that it ignores.

        What it returns is never changed, and is the same object as long as nothing has changed. Raises NotCounted
        while the first walk goes on: the same call, made again, goes on with it; and StorageFailed.
        """
        with self._mutex:
            if scope.ignore != self._ignore:
                self._ignore, self._catalogue, self._first, self._folders = scope.ignore, None, None, {}
            if self._catalogue is None:
                self._walk_on(scope)
            # Once more, if it took several calls: what was made since the first one is to be seen too.
            self._catalogue = _finish(self._walk(scope))
            return self._catalogue

    def _walk_on(self, scope: Scope) -> None:
        if self._first is None:
            self._first = self._walk(scope)
        end = self._clock() + STEP_SECONDS
        try:
            while self._clock() < end:
                next(self._first)
        except StopIteration as done:
            self._catalogue, self._first = done.value, None
            return
        except BaseException:
            self._first = None
            raise
        raise NotCounted

    def _walk(self, scope: Scope) -> Generator[None, None, Catalogue]:
        """Look at one folder after the other; return what there is then."""
        found: dict[RelPath, _Folder] = {}
        gone: set[str] = set()
        come: set[str] = set()
        waiting: list[tuple[RelPath, tuple[_Place, ...]]] = [(ROOT, (self._root.identity,))]
        while waiting:
            path, chain = waiting.pop()
            known = self._folders.get(path)
            folder = self._look(scope, path, known)
            if folder is not None:
                found[path] = folder
                if folder is not known:
                    come |= folder.files
                    gone |= frozenset() if known is None else known.files
                for child, place in folder.below:
                    if place is None:
                        waiting.append((child, chain))
                    elif place not in chain:  # a link may lead back
                        waiting.append((child, (*chain, place)))
            yield
        for path, known in self._folders.items():
            if path not in found:
                gone |= known.files
        self._folders = found
        both = gone & come
        gone -= both
        come -= both
        if self._catalogue is None:
            return Catalogue(come)
        return self._catalogue.changed(gone, come) if gone or come else self._catalogue

    def _look(self, scope: Scope, path: RelPath, known: _Folder | None) -> _Folder | None:
        """Return the folder at *path*, as it is known if it has not changed; None where nothing can be listed."""
        try:
            if known is not None and known.steady and self._root.stamp(path) == known.stamp:
                return known
            now = self._now()
            listing = self._root.list(path, with_identity=self._follows_links)
        except StorageFailed as error:
            if not error.is_for_rights:
                raise
            return None
        except SandboxError:
            return None
        files: list[str] = []
        below: list[tuple[RelPath, _Place | None]] = []
        for entry in listing.entries:
            if entry.name[0] == "." or entry.kind not in (Kind.FILE, Kind.FOLDER):
                continue
            try:
                child = path.child(entry.name)
            except InvalidPath:
                continue  # too deep to be named
            if scope.ignores(child):
                continue
            if entry.kind is Kind.FILE:
                files.append(str(child))
            else:
                below.append((child, _place(entry)))
        steady = not self._follows_links and now - listing.stamp.changed_ns > STEADY_NS
        return _Folder(listing.stamp, steady, frozenset(files), tuple(below))


def _finish(work: Generator[None, None, Catalogue]) -> Catalogue:
    while True:
        try:
            next(work)
        except StopIteration as done:
            found: Catalogue = done.value
            return found


def _place(entry: Entry) -> _Place | None:
    return None if entry.identity is None else (entry.identity.dev, entry.identity.ino)
