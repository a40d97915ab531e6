"""What a move is about to do, written down before the first file changes, so that a kill at any point can be mended.

The journal is one small file in the workspace's part of the state folder. It says what is moved where, and for each
note whose links change: its etags before and after, and the splices between them. Whoever next gets the lock finishes
what stands there: where the move itself had happened the links are rewritten, of notes that nobody has changed since;
where it had not, nothing had changed, and nothing is done.

Limits: a journal is finished by whoever changes something next, or at the next start; until then the links wait. One
that cannot be read (another version's, a broken disk's) is not thrown away: changes are refused until somebody looks.
A note that may not be written any more keeps its links: it would keep everybody from changing anything.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable
from typing import Any, Final

from fsnotes.errors import NotCounted, Unavailable
from fsnotes.notes.etags import etag, is_etag
from fsnotes.notes.splices import Splice, apply
from sandbox.errors import (
    Escape,
    IdentityChanged,
    Missing,
    NotAFolder,
    ObjectRefused,
    RootUnusable,
    SandboxError,
    StorageFailed,
    TooLarge,
)
from sandbox.names import RelPath
from sandbox.place import Place
from sandbox.records import record
from sandbox.root import Root
from sandbox.slots import Slot

NAME: Final = "move.json"
MAX_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of a journal."""

FINISH_SECONDS: Final = 0.3
"""A call finishes no further note once this has passed, so that it ends before its deadline."""

LEAST_FINISHED: Final = 16
"""Notes that a call finishes whatever time they take, so that every call comes further."""

_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO})

_VERSION: Final = 1


@record
class Rewriting:
    """How the note changes that has this *path* once the move has happened."""

    path: RelPath
    former: str
    etag: str
    splices: tuple[Splice, ...]


@record
class Entry:
    """A move of *source* to *target*, an object with the inode number *inode*, and the notes that change with it."""

    source: RelPath
    target: RelPath
    inode: int
    rewritings: tuple[Rewriting, ...]


class Journal:
    """The journal of one workspace. For who holds its lock; close it."""

    def __init__(self, folder: str | Place, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Open the journal in *folder*, one of this account's. Raises RootUnusable."""
        self._slot = Slot(folder, NAME, most=MAX_BYTES)
        self._clock = clock
        # What was read last, as it is and as it is meant, and how far it has been finished in calls that ended early.
        self._begun: tuple[bytes, Entry] | None = None
        self._next = 0

    def close(self) -> None:
        """Close the folder."""
        self._slot.close()

    def write(self, entry: Entry) -> None:
        """Write down what is about to be done; durable. Raises TooLarge and StorageFailed: then nothing may be done."""
        self._slot.write(_encode(entry))

    def clear(self) -> None:
        """Say that it is done; durable. Raises StorageFailed."""
        self._slot.clear()
        self._begun = None

    def finish(self, root: Root) -> bool:
        """Finish what stands in the journal, if anything does; say whether the move in it had happened.

        Raises NotCounted where that takes long: the same call, made again, goes on. Raises Unavailable for a journal
        that cannot be read, and StorageFailed; then it stays for the next one.
        """
        data = None if self._slot.is_empty else self._read()
        if data is None:
            self._begun = None
            return False
        if self._begun is None or data != self._begun[0]:
            try:
                self._begun, self._next = (data, _decode(data)), 0
            except ValueError as error:
                raise _unreadable() from error
        entry = self._begun[1]
        happened = has_happened(root, entry)
        if happened:
            self._rewrite(root, entry)
        self.clear()
        return happened

    def _read(self) -> bytes | None:
        try:
            return self._slot.read()
        except (TooLarge, RootUnusable, Escape) as error:
            raise _unreadable() from error

    def _rewrite(self, root: Root, entry: Entry) -> None:
        end = self._clock() + FINISH_SECONDS
        first = self._next
        for place in range(first, len(entry.rewritings)):
            if place >= first + LEAST_FINISHED and not self._clock() < end:
                raise NotCounted
            _rewrite(root, entry.rewritings[place])
            self._next = place + 1


def _unreadable() -> Unavailable:
    return Unavailable("the journal of a move that was interrupted cannot be read")


def has_happened(root: Root, entry: Entry) -> bool:
    """Say whether the object is at its target: it itself, or what an editor has saved in its place since."""
    there = _inode(root, entry.target)
    if there is None:
        return False
    here = _inode(root, entry.source)
    return here is None or (there == entry.inode and here != entry.inode)


def _inode(root: Root, path: RelPath) -> int | None:
    """Return the inode number of what has exactly this name; None where nothing has.

    A folder's listing tells names as they are, where looking one up may find it in another case. One that is too
    long to be told has to be asked.
    """
    try:
        for entry in root.list(path.parent, with_identity=True).entries:
            if entry.name == path.name:
                return 0 if entry.identity is None else entry.identity.ino
    except TooLarge:
        return _looked_up(root, path)
    except (Missing, NotAFolder, Escape):
        pass
    return None


def _looked_up(root: Root, path: RelPath) -> int | None:
    try:
        try:
            return root.stamp(path).ino
        except NotAFolder:
            return root.stat(path).ino
    except (Missing, Escape, ObjectRefused):
        return None


def _rewrite(root: Root, rewriting: Rewriting) -> None:
    """Change a note as it was to be, unless it is so already, or cannot be read, or somebody has changed it since."""
    try:
        content = root.read(rewriting.path)
    except SandboxError:
        return
    try:
        data = apply(content.data, rewriting.splices)
        if etag(content.data) == rewriting.former and etag(data) == rewriting.etag:
            root.replace(rewriting.path, data, expect=content.identity)
    except (Missing, NotAFolder, Escape, ObjectRefused, IdentityChanged, ValueError):
        return
    except StorageFailed as error:
        if error.errno not in _FORBIDDEN:
            raise


def fits(entry: Entry) -> bool:
    """Say whether a journal has room for *entry*."""
    return len(_encode(entry)) <= MAX_BYTES


def _encode(entry: Entry) -> bytes:
    shape = {
        "version": _VERSION,
        "source": str(entry.source),
        "target": str(entry.target),
        "inode": entry.inode,
        "notes": [
            [
                str(each.path),
                each.former,
                each.etag,
                [[splice.start, splice.end, splice.replacement.decode()] for splice in each.splices],
            ]
            for each in entry.rewritings
        ],
    }
    return json.dumps(shape, ensure_ascii=False, separators=(",", ":")).encode()


def _decode(data: bytes) -> Entry:
    """Return the entry that `_encode` was given. Raises ValueError."""
    try:
        shape: Any = json.loads(data.decode())
        if shape["version"] != _VERSION:
            raise ValueError("another version's")
        return Entry(
            RelPath.parse(shape["source"]),
            RelPath.parse(shape["target"]),
            _whole(shape["inode"]),
            tuple(_rewriting(*each) for each in shape["notes"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError, SandboxError) as error:
        raise ValueError("not a journal") from error


def _rewriting(path: Any, former: Any, later: Any, splices: Any) -> Rewriting:
    if not (is_etag(former) and is_etag(later)):
        raise ValueError("not an etag")
    return Rewriting(
        RelPath.parse(path),
        former,
        later,
        tuple(Splice(_whole(start), _whole(end), text.encode()) for start, end, text in splices),
    )


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("not a number")
    return number
