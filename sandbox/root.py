"""`Root`: everything that can be done beneath one directory.

A root is the directory that was opened, not the path that led to it: it is held by one O_PATH descriptor,
and every operation resolves a `RelPath` from there, by the kernel or component by component, under the
root's policy. No method takes an absolute path for I/O. What bytes mean, who may ask, and which names
are acceptable for new files is decided elsewhere.

What is not promised:

- A folder that somebody moves out of the root while an operation holds its descriptor is followed to its
  new place, since a descriptor names the folder and not its position.
- Programs that write into a file in place, between the last check and an exchange, can lose that write,
  as they can with any editor that saves by renaming.
- The lock keeps out those who take it, nobody else.
- On a kernel that tells no mount ids the walk sees bind mounts of the same file system as folders;
  `features()` says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self

from sandbox import moving, permits, reading, staging, sweeping, trash, writing
from sandbox._linux import O_PATH
from sandbox.beneath import Beneath
from sandbox.errors import RootUnusable, SandboxError
from sandbox.features import Features, probe
from sandbox.locking import Lock, never
from sandbox.names import ROOT, RelPath
from sandbox.objects import (
    Content,
    Entry,
    FileIdentity,
    Kind,
    Listing,
    Numbers,
    Replaced,
    Stamp,
    SweepReport,
    TrashedFile,
)
from sandbox.place import Place
from sandbox.policy import Policy
from sandbox.releasing import release
from sandbox.reports import reporting
from sandbox.resolve import ResolverChoice
from sandbox.shelves import Shelf, Shelves
from sandbox.staging import Change, Staged
from sandbox.steps import Observer, ignore
from sandbox.usage import Space, Tally, space

if TYPE_CHECKING:
    from sandbox.watcher import Watcher

__all__ = [
    "Change",
    "Content",
    "Entry",
    "Features",
    "FileIdentity",
    "Kind",
    "Listing",
    "Numbers",
    "Place",
    "Replaced",
    "Root",
    "Shelf",
    "Shelves",
    "Space",
    "Staged",
    "Stamp",
    "SweepReport",
    "Tally",
    "TrashedFile",
]

SWEEP_AGE_SECONDS: Final = 60.0
_STRICT: Final = Policy()
_NOTHING: Final[Mapping[str, Numbers]] = MappingProxyType({})


def always(_: RelPath) -> bool:
    """Want every path: the default of `Root.watch`."""
    return True


class Root:
    """One directory and its policy. Safe to use from several threads; close it when none is in a call.

    Changes (create, replace, move, trash, restore, sweep) expect the caller to hold `lock()`; they do not
    take it themselves. Every method raises the exceptions of `sandbox.errors` and no OSError.
    """

    def __init__(
        self, tree: Beneath, place: Place, lock_file: str | None, lock_folder: tuple[int, int] | None
    ) -> None:
        self._tree = tree
        self._lock = Lock(tree, lock_file, folder=lock_folder)
        self.place: Final = place
        """Where the directory was when it was opened."""
        self.identity: Final = place.identity
        """Device and inode of the directory."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        policy: Policy = _STRICT,
        *,
        resolver: ResolverChoice = "auto",
        lock_file: str | None = None,
        lock_folder: tuple[int, int] | None = None,
        observe: Observer = ignore,
    ) -> Root:
        """Open the directory at *path*; links in this one path are followed, since its owner chose it.

        *lock_file* stands in where directories cannot be locked; it must lie in a folder of this account's, in that
        with the device and inode *lock_folder* if they are known. *observe* is told of every step of a change, right
        after it. Raises RootUnusable.
        """
        try:
            fd = os.open(path, O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise RootUnusable("the directory cannot be opened") from error
        try:
            status = os.fstat(fd)
            tree = Beneath(fd, policy, resolver=resolver, observe=observe)
        except OSError as error:
            release(fd)
            raise RootUnusable("the directory cannot be looked at") from error
        except BaseException:
            release(fd)
            raise
        place = Place(os.path.abspath(os.fsdecode(path)), (status.st_dev, status.st_ino))
        return cls(tree, place, lock_file, lock_folder)

    @property
    def policy(self) -> Policy:
        """The rules of this root."""
        return self._tree.policy

    @property
    def owner(self) -> tuple[int, int]:
        """The user and the group that the directory belongs to at this moment. Raises StorageFailed."""
        with reporting(ROOT):
            status = os.fstat(self._tree.fd)
        return status.st_uid, status.st_gid

    @property
    def resolver_name(self) -> Literal["openat2", "walk"]:
        """Which resolver is at work."""
        return self._tree.resolver.name

    def close(self) -> None:
        """Close the descriptor. A later call on this root is RootUnusable."""
        self._tree.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def features(self, *, names: Literal["skip", "try"] = "try") -> Features:
        """Try what the file system offers. Makes and removes two files of our own, or skips what needs them."""
        return probe(self._tree, self._lock, names=names)

    # -- reading -------------------------------------------------------------------------------

    def read(self, path: RelPath) -> Content:
        """Return the bytes of the file at *path* and the identity it had before they were read.

        The object is looked at first and opened only if it is a file that the policy accepts; it is judged
        again once it is open, and its size is counted while it is read. Raises Missing, NotAFolder, Escape,
        ObjectRefused, StorageFailed.
        """
        return reading.read(self._tree, path)

    def shelf(self, path: RelPath) -> Shelf:
        """Open the folder at *path* to read many of its files; close it. Raises Missing, NotAFolder, Escape."""
        return Shelf(self._tree, path)

    def shelves(self) -> Shelves:
        """Return what reads files folder by folder, one folder held open; close it."""
        return Shelves(self._tree)

    def stat(self, path: RelPath) -> FileIdentity:
        """Return the identity of the file at *path*, judged as for reading, without opening it."""
        return reading.stat(self._tree, path)

    def identities(
        self, path: RelPath, entries: Sequence[Entry], *, known: Mapping[str, Numbers] = _NOTHING
    ) -> list[FileIdentity | SandboxError | None]:
        """Return what `stat` gives or raises for each of these files, which a `list` of the folder at *path* told of.

        None for one that has the numbers by which it is *known*. The folder is resolved once for all of them. A file
        that is mounted over itself is not told from one that is not; reading it is refused.
        """
        return reading.identities(self._tree, path, entries, known)

    def stamp(self, path: RelPath) -> Stamp:
        """Return the stamp of the folder at *path*, without listing it. Raises Missing, NotAFolder, Escape."""
        return reading.stamp(self._tree, path)

    def kind(self, path: RelPath) -> Kind | None:
        """Say what stands at *path*; None when nothing does. Nothing is opened.

        A link that the policy does not follow, or that leads out or nowhere, is LINK. Raises NotAFolder,
        Escape when a component before the last one is refused, and MountRefused.
        """
        return reading.kind(self._tree, path)

    def list(
        self, path: RelPath = ROOT, *, with_identity: bool, wanted: Callable[[str], bool] | None = None
    ) -> Listing:
        """Return what is directly in the folder at *path*, hidden entries included, sorted by name.

        With *wanted*, only entries whose names it wants; all of them count for the bound, though.

        Links are LINK unless the policy follows them; nothing is opened. With identities, a mount point
        that the policy refuses is OTHER; without, it is told as what covers it. Raises Missing, NotAFolder,
        Escape, StorageFailed, and TooLarge past the policy's `max_entries`.
        """
        return reading.list_folder(self._tree, path, with_identity=with_identity, wanted=wanted)

    def space(self, path: RelPath = ROOT) -> Space:
        """Return how large the file system is on which *path* lies, or would be made, and what is free of it.

        Raises StorageFailed, and Escape for a path that leads out.
        """
        return space(self._tree, path)

    def tally(self, *, clock: Callable[[], float] = time.monotonic) -> Tally:
        """Begin to count what is beneath the root; nothing is read before the first step of it."""
        return Tally(self._tree, clock=clock)

    def watch(
        self, *, folders: Callable[[RelPath], bool] = always, files: Callable[[RelPath], bool] = always
    ) -> Watcher:
        """Begin to watch what anybody changes beneath the root, as far as *folders* and *files* want its path.

        Close the watcher; it outlives the root. Raises WatchUnavailable where nobody tells of changes.
        """
        from sandbox.watcher import (
            Watcher,
        )  # late: workers watch nothing, and what they load costs their start

        return Watcher(self._tree, folders=folders, files=files)

    def check_folder(self, path: RelPath) -> None:
        """Raise what a change of names in the folder at *path* would, as far as that is known without one.

        Its rights are looked at, by descriptor, and whether the file system is read-only: StorageFailed. Raises
        Missing, NotAFolder, Escape too. `permits.py` says what cannot be known.
        """
        permits.check_folder(self._tree, path)

    def check_movable_folder(self, path: RelPath) -> None:
        """Raise what giving the folder at *path* another parent would, but for what `check_folder` says of the two."""
        permits.check_movable_folder(self._tree, path)

    # -- changing ------------------------------------------------------------------------------

    def create(self, path: RelPath, data: bytes, *, durable: bool = True) -> FileIdentity:
        """Make a file with *data* at *path*, and the folders that are missing before it.

        It appears whole or not at all, and never takes a name that is in use: Exists. When it fails, no
        temporary and no folder made for it is left. Its mode comes from the umask and default ACLs. The name
        must be acceptable to the caller; reserved ones are UnacceptableName. Raises TooLarge, NotAFolder,
        Escape, StorageFailed too.
        """
        return writing.create(self._tree, path, data, durable=durable)

    def replace(self, path: RelPath, data: bytes, *, expect: FileIdentity) -> Replaced:
        """Give the file at *path* the text *data* if it is still the one described by *expect*.

        The new file is exchanged with the former one, and what comes out is compared with *expect*: a text
        that a stranger saved meanwhile goes back to its name, and IdentityChanged is raised. Mode (without
        the set-id and sticky bits), owner, ACLs and extended attributes are kept as far as the process may;
        what could not be kept is named. When it fails before the exchange, the old bytes stand and nothing
        is left. A link at the last component is refused, whatever the policy. Where the file system cannot
        exchange, a stranger's text saved in the last microseconds is not noticed (`features`). When the disk fails
        after the exchange, Unsettled: one text has the name, and the other one may lie beside it under a temporary's
        name, from where `sweep` takes it to the trash.
        """
        return writing.replace(self._tree, path, data, expect=expect)

    def move(self, source: RelPath, target: RelPath, *, expect: FileIdentity) -> FileIdentity:
        """Give the file at *source* the path *target*, making folders that are missing.

        Never over anything: Exists. What arrived is compared with *expect* and goes back if it is another:
        IdentityChanged, or Displaced where its name is taken by then. Raises Unsettled where the disk fails after
        the move and it cannot go back. Only files move.
        """
        return moving.move(self._tree, source, target, expect=expect)

    def stage(self, changes: Iterable[Change]) -> tuple[Staged | None, ...]:
        """Write the texts of all *changes* beside their files, durably, without changing any; `put` or `drop` each.

        They are taken one by one, so that not all of the texts need be there at once. None stands for one that there
        is no permission to write. When one of them fails otherwise, nothing is left of the others. Raises what
        `replace` raises before its exchange.
        """
        return staging.stage(self._tree, changes)

    def put(self, staged: Staged, *, aside: RelPath, path: RelPath) -> None:
        """Put a staged text, which waits in the folder *aside* by now, in the place of the file that is at *path*.

        It is checked and kept as in `replace`, which says what it raises; durable after `sync` of the two folders.
        Whatever happens, the text does not wait any more, unless *aside* cannot be opened: then the sweeper finds it.
        """
        staging.put(self._tree, staged, aside=aside, path=path)

    def drop(
        self, staged: Iterable[Staged | None], *, moved: Callable[[RelPath], RelPath] = staging.stays
    ) -> None:
        """Remove staged texts that wait in the folders where they were written, or where *moved* says these may be now.

        Never fails: what cannot be reached is left to the sweeper.
        """
        staging.drop(self._tree, staged, moved=moved)

    def sync(self, folders: Iterable[RelPath]) -> None:
        """Make the names in *folders* durable, as far as these are still there. Raises StorageFailed."""
        staging.sync(self._tree, folders)

    def move_folder(self, source: RelPath, target: RelPath, *, expect: Stamp) -> None:
        """Give the folder at *source*, with all in it, the path *target*, making folders that are missing.

        Never over anything: Exists. What arrived must be the folder of the stamp *expect*, whatever has changed in
        it, and goes back if it is another: IdentityChanged. Into itself is InvalidPath. Links are refused.
        """
        moving.move_folder(self._tree, source, target, expect=expect)

    # -- trash ---------------------------------------------------------------------------------

    def trash(self, path: RelPath, *, entry: str, expect: Callable[[bytes], bool]) -> None:
        """Move the file at *path* to `.trash/<entry>/<path>` if *expect* accepts its bytes.

        It is one rename. Then what arrived is read, and put back unless it is an acceptable file with the
        expected bytes: IdentityChanged. If its name is taken by then, it stays in the trash, and nothing is
        lost: Displaced. Links, hard links and special files are refused before anything moves. A folder left in the
        entry by a killed call is used again; a file in it is Exists. Raises TrashUnusable when `.trash` or
        a folder in it is a link, a file or a mount.
        """
        trash.trash(self._tree, path, entry=entry, expect=expect)

    def receipt(self, path: RelPath, *, entry: str) -> bytes | None:
        """Return the bytes of the file that *entry* holds for *path*; None when there is none.

        Raises ObjectRefused for what is no acceptable file, and TrashUnusable.
        """
        return trash.receipt(self._tree, path, entry=entry)

    def trash_entries(self) -> tuple[str, ...]:
        """Return the names of the entries in the trash, newest first; foreign things there are left out."""
        return trash.entries(self._tree)

    def trashed(self, entry: str) -> TrashedFile | None:
        """Return the one file in *entry*; None when it is empty, gone, or holds anything but one file."""
        return trash.trashed(self._tree, entry)

    def restore(self, entry: str, target: RelPath | None = None) -> RelPath:
        """Move the file in *entry* to *target*, or to where it was, and remove the emptied folders.

        Never over anything: Exists. Makes folders that are missing. Missing when there is nothing to
        restore.
        """
        return trash.restore(self._tree, entry, target)

    # -- lock and sweep ------------------------------------------------------------------------

    def lock(self, *, timeout: float, abandoned: Callable[[], bool] = never) -> AbstractContextManager[None]:
        """Hold the root's lock for a block: one writer among all threads and processes that take it.

        Raises LockTimeout after *timeout* seconds, Abandoned when *abandoned* says so before the block
        begins, RootUnusable where nothing can be locked. Not re-entrant.
        """
        return self._lock.hold(timeout=timeout, abandoned=abandoned)

    def sweep(self, *, now: float, older_than: float = SWEEP_AGE_SECONDS) -> SweepReport:
        """Move temporaries that are older than *older_than* seconds at *now* to `.trash/swept-<UTC>/`.

        Age counts from the last change of text or name. Looks at no more than the policy's `max_entries`
        names in all; follows no link, crosses no mount. Raises TrashUnusable.
        """
        return sweeping.sweep(self._tree, now=now, older_than=older_than)
