"""The trash of a root: a file moves into an entry of its own in one step, is verified, and can come back.

`.trash/<entry>/<the file's path>` is both the place and the receipt: who knows entry and path can prove
later that the file was moved. The entry's name is made by the caller. Nothing here ever removes a file, and
every folder on the way into the trash must be a plain folder on the root's own mount, whatever the policy
says about links and mounts.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Callable
from typing import Final, Literal

from sandbox.beneath import Beneath, Descriptor, check_not_own, encoded_parts, settle_folder
from sandbox.errors import (
    Displaced,
    Escape,
    IdentityChanged,
    InvalidPath,
    Missing,
    NotAFolder,
    ObjectRefused,
    SandboxError,
    TrashUnusable,
    Unsettled,
)
from sandbox.folders import OWN_FOLDER, USER_FOLDER, FolderForChange, remove_empty
from sandbox.moving import put_back
from sandbox.names import MAX_DEPTH, TRASH_FOLDER, RelPath, component_fault, is_entry_name
from sandbox.objects import FileIdentity, Kind, TrashedFile
from sandbox.reading import bounded_entries, read_judged
from sandbox.renaming import lstat, move_file, move_to_private
from sandbox.reports import reporting
from sandbox.resolve import READ_FOLDER, Resolver
from sandbox.steps import Step
from sandbox.writing import folder_of, look_last

MAX_ENTRY_FOLDERS: Final = 256
"""Folders of one entry that are looked into: one with more is not ours."""

_TRASH: Final = TRASH_FOLDER.encode()


def trash(tree: Beneath, path: RelPath, *, entry: str, expect: Callable[[bytes], bool]) -> None:
    """Move the file at *path* into *entry* if its bytes are the expected ones; see `Root.trash`."""
    check_not_own(path)
    name = path.name.encode()
    with folder_of(tree, path, make=None) as source:
        look_last(tree, source, path)
        # What moves is verified once more where it arrives. A kill in between must find the expected text
        # there, unless a stranger saved another one in the last instant.
        _verify(tree, source, path, expect)
        with (
            _entry_folder(tree, entry, make=True) as opened,
            _file_folder(tree, opened, path, make=True) as folder,
        ):
            tree.observe(Step.TRASH_ENTRY_MADE)
            with reporting(path):
                move_to_private(source, name, folder, name)
            try:
                tree.observe(Step.TRASH_MOVED)
                _verify(tree, folder, path, expect)
            except BaseException as error:
                is_back = put_back(folder, name, source, name, shown=str(path))
                _sync_quietly(folder, source)
                if not is_back:
                    raise _kept(path, error) from error
                raise
            tree.observe(Step.TRASH_VERIFIED)
            settle_folder(folder, path)
            settle_folder(source, path)
            tree.observe(Step.TRASH_DURABLE)


def _kept(path: RelPath, why: BaseException) -> BaseException:
    """Return what tells that the file stays in the trash, since it cannot go back; *why* it should have."""
    match why:
        case IdentityChanged():
            return Displaced(str(path))
        case SandboxError():
            return Unsettled(getattr(why, "errno", errno.EIO), repr(str(path)))
        case _:
            return why


def _verify(tree: Beneath, folder: int, path: RelPath, expect: Callable[[bytes], bool]) -> None:
    """Read what arrived, not what was asked for: a rename takes whatever the name holds at its instant."""
    try:
        content = read_judged(path, tree.policy, lambda flags: tree.open_last(folder, path, flags))
    except (ObjectRefused, Escape) as error:
        raise IdentityChanged(str(path)) from error
    if not expect(content.data):
        raise IdentityChanged(str(path))


def receipt(tree: Beneath, path: RelPath, *, entry: str) -> bytes | None:
    """Return the bytes of the file that *entry* holds for *path*, or None; see `Root.receipt`."""
    if not path.parts:
        raise InvalidPath("the root itself is no file")
    try:
        with (
            _entry_folder(tree, entry, make=False) as opened,
            _file_folder(tree, opened, path, make=False) as folder,
        ):
            return read_judged(path, tree.policy, lambda flags: tree.open_last(folder, path, flags)).data
    except Missing:
        return None


def entries(tree: Beneath) -> tuple[str, ...]:
    """Return the names of our entries, newest first; see `Root.trash_entries`."""
    found: list[str] = []
    try:
        with _open_trash(tree) as folder, reporting(TRASH_FOLDER):
            found.extend(
                each.name
                for each in bounded_entries(folder, TRASH_FOLDER, tree.policy.max_entries)
                if is_entry_name(each.name) and each.is_dir(follow_symlinks=False)
            )
    except Missing:
        return ()
    return tuple(sorted(found, reverse=True))


def trashed(tree: Beneath, entry: str) -> TrashedFile | None:
    """Return the single file in *entry*, or None when it is empty or not ours; see `Root.trashed`."""
    name = _check_entry(entry)
    try:
        with (
            _open_trash(tree) as folder,
            Descriptor(tree.plain.open(folder, (name,), READ_FOLDER, shown=entry)) as opened,
        ):
            return _single_file(tree, opened, entry)
    except (Missing, NotAFolder, Escape):
        return None


def _single_file(tree: Beneath, opened: int, entry: str) -> TrashedFile | None:
    """Find the only file of an entry. Empty folders beside its own are what a killed call left, and no matter."""
    found: TrashedFile | None = None
    waiting: list[tuple[str, ...]] = [()]
    for _ in range(MAX_ENTRY_FOLDERS):
        if not waiting:
            return found
        parts = waiting.pop()
        encoded = tuple(part.encode() for part in parts)
        with (
            Descriptor(tree.plain.open(opened, encoded, READ_FOLDER, shown=entry)) as folder,
            reporting(entry),
        ):
            for name in _names(folder):
                if component_fault(name) is not None or len(parts) >= MAX_DEPTH:
                    return None
                seen = lstat(folder, name.encode())
                match Kind.of(seen.mode):
                    case Kind.FOLDER:
                        waiting.append((*parts, name))
                    case Kind.FILE if found is None:
                        found = TrashedFile(RelPath((*parts, name)), seen)
                    case _:
                        return None
    return None


def _names(folder: int) -> list[str]:
    """Return the names in a folder, as many as tell that it is none of ours."""
    with os.scandir(folder) as entries:
        return [each.name for each in itertools.islice(entries, MAX_ENTRY_FOLDERS)]


def restore(tree: Beneath, entry: str, target: RelPath | None = None) -> RelPath:
    """Move the file in *entry* back; see `Root.restore`."""
    found = trashed(tree, entry)
    if found is None:
        raise Missing(entry)
    path = found.path if target is None else target
    check_not_own(path)
    into = folder_of(tree, path, make=USER_FOLDER)
    with _entry_folder(tree, entry, make=False) as opened:
        with _file_folder(tree, opened, found.path, make=False) as folder:
            expected = look_last(tree, folder, found.path)
            with into as target_folder:
                tree.observe(Step.RESTORE_FOLDERS_MADE)
                _move_out(tree, folder, found.path, target_folder, path, expect=expected)
                settle_folder(target_folder, path)
                settle_folder(folder, path)
                tree.observe(Step.RESTORE_DURABLE)
        _tidy(tree, opened, entry, found.path)
    tree.observe(Step.RESTORE_TIDIED)
    return path


def _move_out(
    tree: Beneath, folder: int, held: RelPath, target_folder: int, path: RelPath, *, expect: FileIdentity
) -> None:
    source, target = held.name.encode(), path.name.encode()
    with reporting(path):
        try:
            move_file(folder, source, target_folder, target, shown=str(path))
        except FileNotFoundError as error:
            raise IdentityChanged(str(path)) from error
        tree.observe(Step.RESTORE_MOVED)
        try:
            arrived = lstat(target_folder, target)
        except OSError as error:
            if not put_back(target_folder, target, folder, source, shown=str(path)):
                raise Unsettled(error.errno or errno.EIO, repr(str(path))) from error
            raise
        # What is written into it from now on is its user's, and no reason to take it away again. The type is compared
        # since a new file may have the inode of one that is gone.
        if not (arrived.is_same_file(expect) and stat.S_IFMT(arrived.mode) == stat.S_IFMT(expect.mode)):
            is_back = put_back(target_folder, target, folder, source, shown=str(path))
            raise (IdentityChanged if is_back else Displaced)(str(path))
        tree.observe(Step.RESTORE_VERIFIED)


def _tidy(tree: Beneath, opened: int, entry: str, held: RelPath) -> None:
    """Remove the emptied folders of the entry, deepest first; whatever is not empty stays."""
    parts = encoded_parts(held)
    for depth in range(len(parts) - 1, 0, -1):
        if not remove_empty(opened, parts[:depth], resolver=tree.plain):
            return
    remove_empty(tree.fd, (_TRASH, entry.encode()), resolver=tree.plain)


# -- folders of the trash ----------------------------------------------------------------------


class TrashResolver:
    """Resolves as `plain` does; a link, file or mount where a folder should be makes the trash unusable."""

    def __init__(self, plain: Resolver) -> None:
        self._plain = plain

    @property
    def name(self) -> Literal["openat2", "walk"]:
        """The mechanism beneath."""
        return self._plain.name

    def open(self, root_fd: int, parts: tuple[bytes, ...], flags: int, *, shown: str | None = None) -> int:
        """Open a folder of the trash. Raises TrashUnusable, Missing, StorageFailed."""
        try:
            return self._plain.open(root_fd, parts, flags, shown=shown)
        except (NotAFolder, Escape) as error:
            raise TrashUnusable("a folder of the trash is no plain folder") from error


def _check_entry(entry: str) -> bytes:
    if not is_entry_name(entry):
        raise InvalidPath("not the name of a trash entry")
    return entry.encode()


def _open_trash(tree: Beneath) -> Descriptor:
    return Descriptor(TrashResolver(tree.plain).open(tree.fd, (_TRASH,), READ_FOLDER, shown=TRASH_FOLDER))


def _entry_folder(tree: Beneath, entry: str, *, make: bool) -> FolderForChange:
    parts = (_TRASH, _check_entry(entry))
    return _trash_folder(tree, tree.fd, parts, make=make, shown=entry)


def _file_folder(tree: Beneath, opened: int, path: RelPath, *, make: bool) -> FolderForChange:
    # Relative to the entry: the file's own path may be as long as a path may be.
    return _trash_folder(tree, opened, encoded_parts(path)[:-1], make=make, shown=str(path))


def _trash_folder(
    tree: Beneath, base: int, parts: tuple[bytes, ...], *, make: bool, shown: str
) -> FolderForChange:
    return FolderForChange(
        base, parts, resolver=TrashResolver(tree.plain), make=OWN_FOLDER if make else None, shown=shown
    )


def _sync_quietly(*folders: int) -> None:
    """Sync after a put-back, where the refusal that led to it is the one to report."""
    for folder in folders:
        try:
            os.fsync(folder)
        except OSError:
            pass
