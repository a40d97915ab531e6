"""Durable changes of one file beneath a root: create and replace. Each leaves the former or the final state.

The caller holds the root's lock: it keeps our own writers apart. Strangers (an editor, a sync client) hold
no lock, so every change looks at what it really moved and gives back what it did not expect. What the bytes
mean, and which names are acceptable for new files, is left to the caller.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from sandbox.beneath import Beneath, check_not_own, encoded_parts, settle_folder
from sandbox.errors import (
    Exists,
    IdentityChanged,
    InvalidPath,
    TooLarge,
    Unsettled,
)
from sandbox.folders import USER_FOLDER, FolderForChange
from sandbox.likeness import Likeness
from sandbox.names import RelPath
from sandbox.objects import FileIdentity, Replaced
from sandbox.reading import READ_FILE
from sandbox.renaming import exchange, lstat, name_temporary
from sandbox.reports import reporting
from sandbox.resolve import LOOK
from sandbox.steps import Step
from sandbox.temporaries import SHARED, Temporary, TemporarySteps, discard, write_temporary

GIVE_BACK_ATTEMPTS: Final = 8
"""How often a name that strangers keep rewriting is exchanged back before their text is left aside."""

_CREATE_STEPS: Final = TemporarySteps(Step.CREATE_TEMPORARY, Step.CREATE_WRITTEN, Step.CREATE_SYNCED)
_REPLACE_STEPS: Final = TemporarySteps(Step.REPLACE_TEMPORARY, Step.REPLACE_WRITTEN, Step.REPLACE_SYNCED)


def folder_of(tree: Beneath, path: RelPath, *, make: int | None, durable: bool = True) -> FolderForChange:
    """Return the folder that *path* is changed in, not opened yet."""
    if not path.parts:
        raise InvalidPath("the root itself is no file")
    parts = encoded_parts(path)[:-1]
    return FolderForChange(
        tree.fd, parts, resolver=tree.resolver, make=make, durable=durable, shown=str(path)
    )


def look_last(tree: Beneath, folder: int, path: RelPath) -> FileIdentity:
    """Judge what stands at the last component without opening it; a link there is refused always."""
    with tree.open_last(folder, path, LOOK) as seen, reporting(path):
        status = os.fstat(seen)
        tree.policy.judge(path, status)
        return FileIdentity.of(status)


def create(tree: Beneath, path: RelPath, data: bytes, *, durable: bool) -> FileIdentity:
    """Make a file that did not exist; see `Root.create`."""
    check_text(tree, path, data)
    target = folder_of(tree, path, make=USER_FOLDER, durable=durable)
    with target as folder, reporting(path):
        tree.observe(Step.CREATE_FOLDERS_MADE)
        name = path.name.encode()
        if is_there(folder, name):
            raise Exists(str(path))
        temporary = write_temporary(
            folder,
            data,
            mode=SHARED,
            finish=_leave,
            durable=durable,
            steps=_CREATE_STEPS,
            observe=tree.observe,
        )
        try:
            name_temporary(folder, temporary.name, folder, name)
        except BaseException:
            discard(folder, temporary)
            raise
        tree.observe(Step.CREATE_NAMED)
        if durable:
            settle_folder(folder, path)
            tree.observe(Step.CREATE_DURABLE)
        return temporary.identity


def replace(tree: Beneath, path: RelPath, data: bytes, *, expect: FileIdentity) -> Replaced:
    """Give the file at *path* another text; see `Root.replace`."""
    check_text(tree, path, data)
    with folder_of(tree, path, make=None) as folder, reporting(path):
        temporary, not_kept = write_beside(tree, folder, path, data, expect=expect, durable=True)
        put_in_place(tree, folder, temporary, folder, path, expect=expect)
        settle_folder(folder, path)
        tree.observe(Step.REPLACE_DURABLE)
        return Replaced(temporary.identity, not_kept)


def write_beside(
    tree: Beneath, folder: int, path: RelPath, data: bytes, *, expect: FileIdentity, durable: bool
) -> tuple[Temporary, tuple[str, ...]]:
    """Write *data* to a temporary in the opened *folder* of *path*, like the file there, if that is as expected.

    Return the temporary and what of the file it could not keep.
    """
    if look_last(tree, folder, path).key != expect.key:
        raise IdentityChanged(str(path))
    with tree.open_last(folder, path, READ_FILE) as former:
        current = os.fstat(former)
        tree.policy.judge(path, current)
        if FileIdentity.of(current).key != expect.key:
            raise IdentityChanged(str(path))
        likeness = Likeness(former)
        not_kept: tuple[str, ...] = ()

        def finish(fd: int) -> None:
            nonlocal not_kept
            not_kept = likeness.give(fd)
            tree.observe(Step.REPLACE_LIKENED)

        temporary = write_temporary(
            folder,
            data,
            mode=likeness.mode_at_first,
            finish=finish,
            durable=durable,
            steps=_REPLACE_STEPS,
            observe=tree.observe,
        )
    return temporary, not_kept


def put_in_place(
    tree: Beneath, aside: int, temporary: Temporary, folder: int, path: RelPath, *, expect: FileIdentity
) -> None:
    """Exchange *temporary*, which is in the folder *aside*, with the file at *path* in *folder*.

    The temporary is gone afterwards, whatever happens, unless a signal or an observer ends it half way.
    """
    name = path.name.encode()
    try:
        # What was saved while ours was written is found here nearly always, and then nobody ever sees ours: a
        # program that read it before it is given back would go on from there, without what was saved.
        if lstat(folder, name).key != expect.key:
            raise IdentityChanged(str(path))
        tree.observe(Step.REPLACE_LOOKED)
        exchanged = exchange(aside, temporary.name, folder, name)
    except FileNotFoundError as error:
        discard(aside, temporary)
        raise IdentityChanged(str(path)) from error
    except BaseException:
        discard(aside, temporary)
        raise
    if not exchanged:
        _rename_over(aside, temporary, folder, path)
        return
    # From here on the temporary's name holds the former file. Should anything fail now (an observer, a
    # signal), it stays for the sweeper: nothing that might be a stranger's is removed on the way out.
    tree.observe(Step.REPLACE_EXCHANGED)
    try:
        came_out = lstat(aside, temporary.name)
    except OSError as error:
        _take_back(aside, temporary, folder, path, error)
        raise
    if came_out.key != expect.key:
        try:
            _give_back(aside, temporary, folder, name, held=came_out)
        except OSError as error:
            raise Unsettled(error.errno or errno.EIO, repr(str(path))) from error
        raise IdentityChanged(str(path))
    tree.observe(Step.REPLACE_VERIFIED)
    discard(aside, Temporary(temporary.name, came_out))
    tree.observe(Step.REPLACE_TIDIED)


def _rename_over(aside: int, temporary: Temporary, folder: int, path: RelPath) -> None:
    """Without an exchange: rename over what was looked at. A stranger in between is not noticed."""
    try:
        os.rename(temporary.name, path.name.encode(), src_dir_fd=aside, dst_dir_fd=folder)
    except FileNotFoundError as error:
        discard(aside, temporary)
        raise IdentityChanged(str(path)) from error
    except BaseException:
        discard(aside, temporary)
        raise


def _take_back(aside: int, temporary: Temporary, folder: int, path: RelPath, why: OSError) -> None:
    """Undo an exchange of which nobody can see what came out. Raises Unsettled where that cannot be done either."""
    try:
        exchange(aside, temporary.name, folder, path.name.encode())
        is_ours = lstat(aside, temporary.name).key == temporary.identity.key
    except OSError as error:
        raise Unsettled(why.errno or errno.EIO, repr(str(path))) from error
    if not is_ours:
        # Somebody has saved another text over ours meanwhile, and that is aside by now: it has the name again. The one
        # that came out first is left to the sweeper.
        try:
            exchange(aside, temporary.name, folder, path.name.encode())
        except OSError as error:
            raise Unsettled(why.errno or errno.EIO, repr(str(path))) from error
        raise IdentityChanged(str(path)) from why
    discard(aside, temporary)


def _give_back(aside: int, temporary: Temporary, folder: int, name: bytes, *, held: FileIdentity) -> None:
    """Put the text *held* aside back in place, and remove ours once it comes out again.

    If another text comes out instead, somebody wrote over ours meanwhile: that is the latest and goes back,
    and the earlier one stays under the temporary's name, from where the sweeper takes it to the trash.
    Nothing but our own file is ever removed. Raises OSError where that fails: then nobody can say which text has
    the name, and the other one lies under the temporary's name, from where the sweeper takes it to the trash.
    """
    put: FileIdentity | None = None
    for _ in range(GIVE_BACK_ATTEMPTS):
        try:
            exchange(aside, temporary.name, folder, name)
        except FileNotFoundError:
            # Ours was removed meanwhile: the stranger's text gets its name back unless it is taken.
            try:
                name_temporary(aside, temporary.name, folder, name)
            except FileExistsError:
                continue
            return
        out = lstat(aside, temporary.name)
        if out.key == temporary.identity.key:
            discard(aside, temporary)
            return
        if put is not None and out.is_same_file(put):
            return  # what was put back first is aside again, so the later text has the name
        put, held = held, out


def is_there(folder: int, name: bytes) -> bool:
    """Say whether something stands at *name*, whatever it is."""
    try:
        lstat(folder, name)
    except OSError:
        return False  # or cannot be looked at: the change itself tells why
    return True


def check_text(tree: Beneath, path: RelPath, data: bytes) -> None:
    """Refuse a text that is not to be written at *path*, or is too large, before anything is opened."""
    check_not_own(path)
    if len(data) > tree.policy.max_file_bytes:
        raise TooLarge(str(path), limit=tree.policy.max_file_bytes)


def _leave(fd: int) -> None:
    """Finish nothing: a created file gets its mode from the umask and the folder's default ACL."""
