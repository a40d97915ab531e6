"""What a move is about to do, written down before the first file changes, so that a kill at any point can be mended.

The journal is one small file in the workspace's part of the state folder. It says what is moved where, and for each
note whose links change: its etags before and after, and the splices between them. Whoever next gets the lock finishes
what stands there: where the move itself had happened the links are rewritten, of notes that nobody has changed since;
where it had not, nothing had changed, and nothing is done. Each one that is written leaves a mark beside it, which no
other has, so that whoever looks through the notes for a move of their own can tell that these have been rewritten
since: in this process or another one.

Where it cannot be seen whether the move had happened, in a folder that may not be looked at any more, the journal
stays. Other changes than moves are made all the same.

Limits: a journal is finished by whoever changes something next, or at the next start; until then the links wait. One
that cannot be read (another version's, a broken disk's) is not thrown away: changes are refused until somebody looks.
A note that may not be written any more keeps its links: it would keep everybody from changing anything. Of a moved
note that somebody else has removed by then, nobody knows whether it had moved, so that is forgotten.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Callable
from typing import Any, Final

from fsnotes.errors import MoveStuck, NotCounted, Unavailable
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
from sandbox.records import record, replace
from sandbox.root import Root
from sandbox.slots import Slot

NAME: Final = "move.json"
MARK: Final = "moved"
"""The file with the mark of the journal that was written last."""

MAX_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of a journal."""

MAX_REWRITINGS: Final = MAX_BYTES - 64 * 1024
"""Most bytes of all that it says of notes, by `size_of`: the rest is for the two paths."""

FINISH_SECONDS: Final = 0.3
"""A call finishes no further note once this has passed, so that it ends before its deadline."""

LEAST_FINISHED: Final = 16
"""Notes that a call finishes whatever time they take, so that every call comes further."""

MOST_TRASHED: Final = 300
"""So many of the latest entries of the trash are looked at for a moved note that is gone."""

_MARK_BYTES: Final = 16

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
    """A move of *source* to *target*, an object with the inode number *inode*, and the notes that change with it.

    *happened* is set once somebody has seen that it has, and is about to remove what tells so.
    """

    source: RelPath
    target: RelPath
    inode: int
    rewritings: tuple[Rewriting, ...]
    happened: bool = False


class Journal:
    """The journal of one workspace. For who holds its lock; close it."""

    def __init__(self, folder: str | Place, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Open the journal in *folder*, one of this account's. Raises RootUnusable."""
        self._slot = Slot(folder, NAME, most=MAX_BYTES)
        try:
            self._mark = Slot(folder, MARK, most=2 * _MARK_BYTES)
        except BaseException:
            self._slot.close()
            raise
        self._clock = clock
        # What was read last, as it is and as it is meant, and how far it has been finished in calls that ended early.
        self._begun: tuple[bytes, Entry] | None = None
        self._next = 0

    def close(self) -> None:
        """Close the folder."""
        self._slot.close()
        self._mark.close()

    @property
    def is_pending(self) -> bool:
        """Whether a move stands in it, which is being made or was interrupted. Needs no lock."""
        return not self._slot.is_empty

    def check(self) -> None:
        """Raise Unavailable for a journal that cannot be read: who only looks can say so. Needs no lock."""
        data = self._read()
        if data is not None:
            try:
                _decode(data)
            except ValueError as error:
                raise _unreadable() from error

    def last_move(self) -> str:
        """Return the mark of the last journal: nothing if there was none, else 32 hexadecimal digits. Needs no lock.

        Who reads it first, then sees that nothing is pending, and later finds the same while holding the lock, knows
        that no note was rewritten by a move in between. Raises Unavailable.
        """
        try:
            data = self._mark.read()
        except (TooLarge, RootUnusable, Escape) as error:
            raise _unreadable() from error
        return "" if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()

    def write(self, entry: Entry) -> None:
        """Write down what is about to be done; durable. Raises TooLarge and StorageFailed: then nothing may be done."""
        self._slot.write(_encode(entry))
        # Behind it: whoever reads this mark sees that journal too. After a power cut nobody remembers one of before.
        self._mark.write(os.urandom(_MARK_BYTES).hex().encode(), durable=False)

    def clear(self) -> None:
        """Say that it is done; durable. Raises StorageFailed."""
        self._slot.clear()
        self._begun = None

    def finish(self, root: Root) -> bool:
        """Finish what stands in the journal, if anything does; say whether the move in it had happened.

        Raises NotCounted where that takes long: the same call, made again, goes on. Raises MoveStuck where it cannot be
        seen whether the move had happened, Unavailable for a journal that cannot be read, and StorageFailed; then it
        stays for the next one.
        """
        entry = self._entry()
        if entry is None:
            return False
        try:
            happened = has_happened(root, entry)
        except SandboxError as error:
            raise MoveStuck(_STUCK) from error
        if happened:
            self._rewrite(root, entry)
        self.clear()
        return happened

    def settle(self, root: Root, path: RelPath) -> None:
        """Rewrite the links of the one note at *path* if that is pending: it is about to go where nobody finishes it.

        The journal stays; of a note that has moved it says so, which could not be seen any more. What keeps that from
        being done is no reason to keep the note.
        """
        with contextlib.suppress(SandboxError, Unavailable):
            entry = self._entry(path)
            if entry is None or not has_happened(root, entry):
                return
            if path == entry.target and not entry.happened:
                self._remember(replace(entry, happened=True))
            for rewriting in entry.rewritings:
                if rewriting.path == path:
                    _rewrite(root, rewriting)

    def _remember(self, entry: Entry) -> None:
        data = _encode(entry)
        with contextlib.suppress(SandboxError):
            self._slot.write(data)
            self._begun = data, entry

    def _entry(self, path: RelPath | None = None) -> Entry | None:
        """Return what stands there, if anything does and, with *path*, that path may be in it. Raises Unavailable."""
        data = None if self._slot.is_empty else self._read()
        if data is None:
            self._begun = None
            return None
        if path is not None and _json(str(path)) not in data:
            return None
        if self._begun is None or data != self._begun[0]:
            try:
                self._begun, self._next = (data, _decode(data)), 0
            except ValueError as error:
                raise _unreadable() from error
        return self._begun[1]

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


_STUCK: Final = "a move that was interrupted cannot be finished, since what became of it cannot be seen"


def _unreadable() -> Unavailable:
    return Unavailable("the journal of a move that was interrupted cannot be read")


def has_happened(root: Root, entry: Entry) -> bool:
    """Say whether the object is at its target: it itself, or what an editor has saved in its place since.

    It may also have been deleted from there. Raises StorageFailed where neither that nor the contrary can be seen.
    """
    if entry.happened:
        return True
    unseen: StorageFailed | None = None
    here: int | None = None
    try:
        here = _inode(root, entry.source)
    except StorageFailed as error:
        unseen = error
    if here == entry.inode:
        return False
    there = _inode(root, entry.target)
    if there == entry.inode or (there is None and _was_deleted(root, entry)):
        return True
    if unseen is not None:
        raise unseen
    return there is not None and here is None


def _was_deleted(root: Root, entry: Entry) -> bool:
    """Say whether the object, a note, was moved to the trash from its target."""
    for name in root.trash_entries()[:MOST_TRASHED]:
        try:
            held = root.trashed(name)
        except SandboxError:
            continue
        if held is not None and held.identity.ino == entry.inode:
            return held.path == entry.target
    return False


def _inode(root: Root, path: RelPath) -> int | None:
    """Return the inode number of what has exactly this name; None where nothing has.

    A folder's listing tells names as they are, where looking one up may find it in another case. One that is too
    long to be told, or that nobody may list, has to be asked. Raises StorageFailed.
    """
    try:
        for entry in root.list(path.parent, with_identity=True).entries:
            if entry.name == path.name:
                return 0 if entry.identity is None else entry.identity.ino
    except (TooLarge, StorageFailed):
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
        "happened": entry.happened,
        "notes": [_shape(each) for each in entry.rewritings],
    }
    return _json(shape)


def size_of(rewriting: Rewriting) -> int:
    """Return how many bytes of a journal *rewriting* takes."""
    return len(_json(_shape(rewriting))) + 1


def _shape(each: Rewriting) -> list[Any]:
    splices = [[splice.start, splice.end, splice.replacement.decode()] for splice in each.splices]
    return [str(each.path), each.former, each.etag, splices]


def _json(shape: Any) -> bytes:
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
            shape.get("happened") is True,
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
