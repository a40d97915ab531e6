"""Renames that never overwrite, and the exchange of two names; with what stands in where flags are missing.

Some file systems (NFS, some FUSE ones) refuse renameat2 with flags. Then a name is claimed by a hard link,
which cannot overwrite either, and the former name is dropped; and an exchange is not offered at all.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from sandbox import _linux
from sandbox.beneath import UNCERTAIN, UNSUPPORTED
from sandbox.errors import IdentityChanged, Unsettled
from sandbox.names import OWN_PREFIX
from sandbox.objects import FileIdentity

_RANDOM_BYTES: Final = 12


def temporary_name() -> bytes:
    """Return a name that nobody else uses: the prefix of temporaries and 96 random bits."""
    return (OWN_PREFIX + os.urandom(_RANDOM_BYTES).hex()).encode()


def lstat(folder: int, name: bytes) -> FileIdentity:
    """Return the identity of what stands at *name*, a link itself included. Raises OSError."""
    return FileIdentity.of(os.stat(name, dir_fd=folder, follow_symlinks=False))


def exchange(folder: int, one: bytes, other_folder: int, other: bytes) -> bool:
    """Exchange two names in one step; False where the file system does not offer it.

    Raises OSError, ENOENT when one of them is gone; then nothing was exchanged. Raises Unsettled when nobody can see
    whether they were.
    """
    former = lstat(folder, one)
    try:
        _linux.renameat2(folder, one, other_folder, other, flags=_linux.RENAME_EXCHANGE)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return False
        if error.errno not in UNCERTAIN:
            raise
        try:
            is_made = lstat(other_folder, other).is_same_file(former)
        except OSError as unseen:
            raise Unsettled(error.errno, repr(os.fsdecode(other))) from unseen
        if not is_made:
            raise
    return True


def name_temporary(aside: int, temporary: bytes, folder: int, name: bytes) -> None:
    """Give our own *temporary*, in the folder *aside*, its final name; raises FileExistsError when that is taken.

    Raises Unsettled when it has both names, and neither can be dropped.
    """
    if _rename_noreplace(aside, temporary, folder, name):
        return
    # A kill between the two leaves the file under both names; the sweeper drops the temporary one.
    os.link(temporary, name, src_dir_fd=aside, dst_dir_fd=folder, follow_symlinks=False)
    try:
        os.unlink(temporary, dir_fd=aside)
    except OSError as error:
        _unlink_again(folder, name, of=(aside, temporary), why=error)
        raise


def move_file(source_folder: int, source: bytes, target_folder: int, target: bytes, *, shown: str) -> None:
    """Move a file of somebody's; raises FileExistsError when the target is taken.

    Without rename flags this is not one step: a kill in between leaves the file under two names. Raises
    IdentityChanged when another file took the source's name meanwhile; both texts are kept. Raises Unsettled when
    the second step fails and the first cannot be undone.
    """
    if _rename_noreplace(source_folder, source, target_folder, target):
        return
    if stat.S_ISDIR(lstat(source_folder, source).mode):
        # A folder that was swapped in and goes back. It cannot be linked, and renaming it never overwrites
        # a file (at most a folder that is empty).
        os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)
        return
    os.link(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder, follow_symlinks=False)
    # The name is dropped by moving it aside first, so that what is removed can be looked at.
    aside = temporary_name()
    try:
        linked = lstat(target_folder, target)
        os.rename(source, aside, src_dir_fd=source_folder, dst_dir_fd=source_folder)
    except OSError as error:
        _unlink_again(target_folder, target, of=(source_folder, source), why=error)
        raise
    try:
        if lstat(source_folder, aside).is_same_file(linked):
            os.unlink(aside, dir_fd=source_folder)
            return
        name_temporary(source_folder, aside, source_folder, source)
    except OSError as error:
        # The file has its new name, and what had the former one lies aside for the sweeper.
        raise Unsettled(error.errno or errno.EIO, repr(shown)) from error
    raise IdentityChanged(shown)


def _unlink_again(folder: int, name: bytes, *, of: tuple[int, bytes], why: OSError) -> None:
    """Drop the *name* that a file has got beside the one *of* which it is a link; raises Unsettled where that fails.

    It is moved aside first as well, so that nothing of a stranger's is removed, and never a file's last name.
    """
    aside = temporary_name()
    try:
        former = lstat(*of)
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        seen = lstat(folder, aside)
        if seen.is_same_file(former) and seen.nlink > 1:
            os.unlink(aside, dir_fd=folder)
            return
        os.link(aside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise Unsettled(why.errno or errno.EIO, repr(os.fsdecode(name))) from error
    raise Unsettled(why.errno or errno.EIO, repr(os.fsdecode(name))) from why


def move_to_private(source_folder: int, source: bytes, target_folder: int, target: bytes) -> None:
    """Move a file into a folder that is ours alone; raises FileExistsError when the target is taken.

    Always one step, so that a kill leaves the file in one place. Without rename flags the target is looked
    at first.
    """
    if _rename_noreplace(source_folder, source, target_folder, target):
        return
    # SAFETY: the folder has mode 0700 and a name that only the holder of the lock knows to write to, so
    # nothing of anybody's can appear at the target between the look and the rename.
    if _is_taken(target_folder, target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)


def _rename_noreplace(source_folder: int, source: bytes, target_folder: int, target: bytes) -> bool:
    try:
        _linux.renameat2(source_folder, source, target_folder, target, flags=_linux.RENAME_NOREPLACE)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return False
        if error.errno not in UNCERTAIN:
            raise
        try:
            is_made = not _is_taken(source_folder, source)
            if is_made:
                lstat(target_folder, target)
        except OSError as unseen:
            raise Unsettled(error.errno, repr(os.fsdecode(target))) from unseen
        if not is_made:
            raise
    return True


def _is_taken(folder: int, name: bytes) -> bool:
    try:
        lstat(folder, name)
    except FileNotFoundError:
        return False
    return True
