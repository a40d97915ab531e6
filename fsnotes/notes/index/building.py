"""How an index is made and kept equal to the notes on the disk: bounded calls, each going on where the last one ended.

A survey walks the workspace and compares what is there with what the index knows, without opening a note. What differs
is read in the order of the notes' times, oldest first, so that a higher id is a newer note. A kill loses what was not
committed, and the next survey finds it again: there is no other state.

A note is the same if inode, size and time are. One that was read within the tick in which it was written is read again
by the next survey. A file that is known under another path, where it is no more, was renamed and is not read.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from fsnotes.errors import NoteNotFound, PathRefused
from fsnotes.notes.commands import Skipped
from fsnotes.notes.index.bounds import CALL_BYTES
from fsnotes.notes.index.rows import Doc, Row, Stat, row_of
from fsnotes.notes.index.store import Store
from fsnotes.notes.model import is_note
from fsnotes.notes.scope import Scope
from fsnotes.notes.walking import Finding, Passed, Position, Seen, reason_of, walk
from sandbox.errors import Missing, NotAFolder, RootUnusable, SandboxError
from sandbox.names import RelPath
from sandbox.root import Kind, Numbers, Root

PIECE: Final = 16
"""How many notes are written at once, and between two looks at the clock."""
COMMIT_NOTES: Final = 2_048
"""How many notes become visible together, and how many a kill loses at most."""
_TICK_NS: Final = 2_000_000_000
"""The coarsest clock of a file system that is reckoned with: FAT's."""
_CHUNK: Final = 500
MOST_NAMED: Final = 500
"""How many files that are left out are kept by their paths."""


class Vault(NamedTuple):
    """The notes that are indexed. *clock* is for bounds (seconds), *now* for comparing with files' times (ns)."""

    root: Root
    scope: Scope
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], int] = time.time_ns

    def stat(self, path: str) -> Stat | None:
        """Return the numbers of the note at *path*, None where there is none that is served."""
        try:
            place = RelPath.parse(path)
            if not self.scope.admits(place) or not is_note(place.name):
                return None
            return Stat.of(self.root.stat(place))
        except RootUnusable:
            raise
        except SandboxError:
            return None

    def refused(self, path: str) -> str | None:
        """Return why the note at *path* is not served; None where it is, or where there is none."""
        try:
            place = RelPath.parse(path)
            if self.scope.admits(place) and is_note(place.name) and not self.is_folder(path):
                self.root.stat(place)
            return None
        except RootUnusable:
            raise
        except (Missing, NotAFolder):
            return None
        except SandboxError as error:
            return reason_of(error)

    def is_folder(self, path: str) -> bool:
        """Say whether a folder is at *path*, "" for the top."""
        try:
            return self.root.kind(RelPath.parse_folder(path)) is Kind.FOLDER
        except RootUnusable:
            raise
        except SandboxError:
            return False

    def row(self, path: str) -> Row | str | None:
        """Read the note at *path*; None if it is not there, the reason if it is not served."""
        try:
            content = self.root.read(RelPath.parse(path))
        except RootUnusable:
            raise
        except (Missing, NotAFolder):
            return None
        except SandboxError as error:
            return reason_of(error)
        identity = content.identity
        sure = identity.mtime_ns < self.now() - _TICK_NS
        return row_of(path, content.data, Stat.of(identity), sure=sure)


class LeftOut:
    """Files that are left out: MOST_NAMED of them by their paths, the others counted by reason."""

    def __init__(self, items: Iterable[Skipped] = ()) -> None:
        self._named: dict[str, Skipped] = {}
        self._counts: Counter[str] = Counter()
        for item in items:
            self.add(item)

    def add(self, item: Skipped) -> None:
        """Note one, or several that have no path."""
        if item.path is None or (len(self._named) >= MOST_NAMED and item.path not in self._named):
            self._counts[item.reason] += item.count
        else:
            self._named[item.path] = item

    def told(self) -> tuple[Skipped, ...]:
        """Return all of them."""
        counts = (Skipped(None, count, reason) for reason, count in sorted(self._counts.items()))
        return (*self._named.values(), *counts)


class Survey:
    """One walk through a folder, "" for all, compared with the index.

    It leaves what has to be read in *pending* (time and path), and what is left out in *left_out*.
    """

    def __init__(self, vault: Vault, store: Store, folder: str = "") -> None:
        self._vault = vault
        self._store = store
        self.folder = folder
        self._first = store.next_id
        self._known = store.counts()[0] > 0
        self._seen: set[int] = set()
        self._ids: dict[str, int] = {}
        """Of the notes that the walk was told of last, by their names."""
        self._steps: Iterator[tuple[Position, Finding]] | None = self._walk()
        self._behind = 0
        self.pending: dict[str, int] = {}
        self.left_out = LeftOut()
        self.found = 0
        """How many notes were met."""

    def _walk(self) -> Iterator[tuple[Position, Finding]] | None:
        try:
            known = self._known_in if self._known else None
            return walk(
                self._vault.root, self._vault.scope, self.folder, recursive=True, after=None, known=known
            )
        except (NoteNotFound, PathRefused, Missing, NotAFolder):
            return None  # nothing is there, so whatever is known in it is gone

    def step(self, end: float) -> bool:
        """Go on until the clock says *end*; say whether all is done. Raises RootUnusable and what `Store` raises."""
        while self._steps is not None:
            for _ in range(PIECE):
                item = next(self._steps, None)
                if item is None:
                    self._steps = None
                    self._seen_all()
                    break
                self._judge(item[1])
                if isinstance(item[1], Passed):
                    break  # there were many
            if self._vault.clock() >= end:
                return False
        return self._remove_gone(end)

    def _known_in(self, folder: RelPath, first: str, last: str) -> dict[str, Numbers]:
        docs = self._store.docs_in("/".join(folder.parts), first, last)
        self._ids = {name: number for name, (number, _) in docs.items()}
        return {name: numbers for name, (_, numbers) in docs.items()}

    def _seen_all(self) -> None:
        if not self._known:
            self._behind = self._first  # nothing was there that could be gone

    def _judge(self, finding: Finding) -> None:
        match finding:
            case Seen(path, identity):
                self.found += 1
                self._compare(str(path), Stat.of(identity))
            case Passed(_, names):
                self.found += len(names)
                self._seen.update(map(self._ids.__getitem__, names))
            case Skipped():
                self.left_out.add(finding)
            case _:
                pass

    def _compare(self, path: str, stat: Stat) -> None:
        known = self._store.doc(path) if self._known else None
        if known is None and self._known:
            known = renamed(self._vault, self._store, path, stat)
        if known is not None:
            self._seen.add(known.id)
            if known.stat == stat and known.sure:
                return
        self.pending[path] = stat.mtime

    def _remove_gone(self, end: float) -> bool:
        """Forget the notes that were known before and not met, if they are really not there."""
        while self._behind < self._first:
            docs = self._store.docs_after(self._behind, limit=_CHUNK)
            within = f"{self.folder}/" if self.folder else ""
            gone = [
                doc
                for doc in docs
                if doc.id < self._first and doc.id not in self._seen and doc.path.startswith(within)
            ]
            for doc in gone:
                # One that was renamed meanwhile may have been passed by, and one that changed has been read since.
                if self._vault.stat(doc.path) is None:
                    self._store.remove([doc.path])
                else:
                    self.pending[doc.path] = doc.stat.mtime
            self._behind = docs[-1].id if len(docs) == _CHUNK else self._first
            if self._vault.clock() >= end:
                return self._behind >= self._first
        return True


def renamed(vault: Vault, store: Store, path: str, stat: Stat) -> Doc | None:
    """If the file at *path*, which the index does not know, had another path before, give the note this one."""
    for doc in store.docs_of(stat.ino):
        if doc.stat == stat and vault.stat(doc.path) != stat:
            store.rename(doc.id, path)
            return doc
    return None


class Builder:
    """Reads the notes that are pending, and writes them into the index."""

    def __init__(self, vault: Vault, store: Store) -> None:
        self._vault = vault
        self._store = store
        self._queue: list[tuple[int, str]] = []
        self.left_out = LeftOut()
        """What turned out not to be readable."""

    @property
    def remaining(self) -> int:
        """How many notes are to be read."""
        return len(self._queue)

    def add(self, pending: dict[str, int]) -> None:
        """Take over what a survey found."""
        waiting = {path: mtime for mtime, path in self._queue} | pending
        # The oldest one is taken first, from the end.
        self._queue = sorted(((mtime, path) for path, mtime in waiting.items()), reverse=True)

    def step(self, end: float) -> bool:
        """Read and write until the clock says *end*; say whether all is done and visible.

        Raises RootUnusable and what `Store` raises; then what was not committed has to be surveyed again.
        """
        size = 0
        while self._queue and size < CALL_BYTES:
            size += self._piece()
            if self._store.written >= COMMIT_NOTES:
                self._store.commit()
            if self._vault.clock() >= end:
                break
        return not self._queue and self._store.commit()

    def _piece(self) -> int:
        rows: list[Row] = []
        size = 0
        while self._queue and len(rows) < PIECE and size < CALL_BYTES // 4:
            _, path = self._queue.pop()
            row = self._vault.row(path)
            if isinstance(row, Row):
                size += row.stat.size
                known = self._store.doc(path)
                if known is not None and known.etag == row.etag and known.reason == row.reason:
                    # It keeps its id: who goes on with a search finds it where it was.
                    self._store.confirm(known.id, row.stat, sure=row.sure)
                else:
                    rows.append(row)
            else:
                if row is not None:
                    self.left_out.add(Skipped(path, 1, row))
                self._store.remove([path])
        self._store.put(rows)
        return size


def refresh(vault: Vault, store: Store, paths: Iterable[str], end: float) -> list[str]:
    """Compare single notes with the index, read those that may have changed, and return those that were not looked at.

    What is there comes before what is not, so that a rename is seen as one. A note that is known is read whatever its
    times say, since somebody says that it changed; if its bytes are the same, nothing is written but its numbers.
    Nothing is committed. Raises RootUnusable and what `Store` raises.
    """
    waiting = [(path, vault.stat(path)) for path in dict.fromkeys(paths)]
    waiting.sort(key=lambda item: item[1] is None)
    for place, (path, stat) in enumerate(waiting):
        if place and vault.clock() >= end:
            return [path for path, _ in waiting[place:]]
        _refresh(vault, store, path, stat)
    return []


def _refresh(vault: Vault, store: Store, path: str, stat: Stat | None) -> None:
    if stat is None:
        store.remove([path])
        return
    known = store.doc(path)
    if known is None and renamed(vault, store, path, stat) is not None:
        return
    row = vault.row(path)
    if not isinstance(row, Row):
        store.remove([path])
    elif known is not None and row.etag == known.etag:
        if (known.stat, known.sure) != (row.stat, row.sure):
            store.confirm(known.id, row.stat, sure=row.sure)
    else:
        store.put([row])
