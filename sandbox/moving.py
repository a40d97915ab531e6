"""Moving beneath a root: a file or a folder gets another path, and nothing is ever moved over anything.

As in `writing.py` the caller holds the root's lock, and what arrived is looked at and given back if a stranger
exchanged it meanwhile. Which names are acceptable is left to the caller.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from sandbox.beneath import Beneath, check_not_own, settle_folder
from sandbox.errors import (
    Displaced,
    Exists,
    IdentityChanged,
    InvalidPath,
    Missing,
    MountRefused,
    SandboxError,
    StorageFailed,
    Unsettled,
)
from sandbox.folders import USER_FOLDER
from sandbox.names import RelPath
from sandbox.objects import FileIdentity, Stamp
from sandbox.renaming import lstat, move_file
from sandbox.reports import reporting
from sandbox.resolve import LOOK_FOLDER
from sandbox.steps import Step
from sandbox.writing import folder_of, is_there, look_last


def move(tree: Beneath, source: RelPath, target: RelPath, *, expect: FileIdentity) -> FileIdentity:
    """Give the file at *source* the path *target*; see `Root.move`."""

    def look(folder: int) -> bool:
        return look_last(tree, folder, source).key == expect.key

    def is_it(seen: FileIdentity) -> bool:
        return seen.key == expect.key

    def is_respelled(seen: FileIdentity) -> bool:
        return seen.key == expect.key and seen.nlink == 1

    return _move(tree, source, target, look=look, is_it=is_it, is_respelled=is_respelled)


def move_folder(tree: Beneath, source: RelPath, target: RelPath, *, expect: Stamp) -> None:
    """Give the folder at *source* the path *target*; see `Root.move_folder`."""
    if target.starts_with(source) and target != source:
        raise InvalidPath("a folder cannot be moved into itself")

    def look(folder: int) -> bool:
        with tree.open_last(folder, source, LOOK_FOLDER) as seen, reporting(source):
            return is_it(FileIdentity.of(os.fstat(seen)))

    def is_it(seen: FileIdentity) -> bool:
        return (seen.dev, seen.ino) == (expect.dev, expect.ino)

    _move(tree, source, target, look=look, is_it=is_it, is_respelled=is_it)


def _move(
    tree: Beneath,
    source: RelPath,
    target: RelPath,
    *,
    look: Callable[[int], bool],
    is_it: Callable[[FileIdentity], bool],
    is_respelled: Callable[[FileIdentity], bool],
) -> FileIdentity:
    """Move what *look* finds in the opened folder of *source*, and give back what *is_it* does not know.

    *is_respelled* says whether what stands at the target is the very thing, found there by a file system that folds
    case or Unicode forms.
    """
    check_not_own(source)
    check_not_own(target)
    into = folder_of(tree, target, make=USER_FOLDER)
    with folder_of(tree, source, make=None) as source_folder:
        if not look(source_folder):
            raise IdentityChanged(str(source))
        with into as target_folder:
            tree.observe(Step.MOVE_FOLDERS_MADE)
            old, new = source.name.encode(), target.name.encode()
            try:
                with reporting(target):
                    if is_there(target_folder, new):
                        if source == target or not is_respelled(lstat(target_folder, new)):
                            raise Exists(str(target))
                        os.rename(old, new, src_dir_fd=source_folder, dst_dir_fd=target_folder)
                    else:
                        move_file(source_folder, old, target_folder, new, shown=str(source))
            except Missing as error:
                raise IdentityChanged(str(source)) from error
            except StorageFailed as error:
                if error.errno == errno.EINVAL:  # by a link that is followed
                    raise InvalidPath("a folder cannot be moved into itself") from error
                raise
            except MountRefused as error:
                # Both ends were opened, so that the policy lets them be: no rename leads from one to the other.
                raise StorageFailed(errno.EXDEV, repr(str(target))) from error
            tree.observe(Step.MOVE_MOVED)
            with reporting(target):
                try:
                    arrived = lstat(target_folder, new)
                except OSError as error:
                    if not put_back(target_folder, new, source_folder, old, shown=str(source)):
                        raise Unsettled(error.errno or errno.EIO, repr(str(target))) from error
                    raise
            if not is_it(arrived):
                is_back = put_back(target_folder, new, source_folder, old, shown=str(source))
                raise (IdentityChanged if is_back else Displaced)(str(source))
            tree.observe(Step.MOVE_VERIFIED)
            with reporting(target):
                settle_folder(target_folder, target)
                settle_folder(source_folder, source)
            tree.observe(Step.MOVE_DURABLE)
            return arrived


def put_back(from_folder: int, name: bytes, source_folder: int, source: bytes, *, shown: str) -> bool:
    """Return what was moved by mistake to its name; False when that is taken or fails, and it stays where it is."""
    try:
        move_file(from_folder, name, source_folder, source, shown=shown)
    except (OSError, SandboxError):
        return False
    return True
