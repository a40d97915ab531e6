"""Several files get other texts at once: all texts are written and synced beside them before the first one is put.

What can fail (no room, a file that is not the expected one any more) fails before anything has changed. A file that
the file system lets nobody replace is passed over, and keeps no other from its text.
Between writing and putting, the files, or the folders they are in, may be moved. Texts are synced together, which
costs a journalling file system one commit instead of one for each. What was staged is put or dropped, wherever its
folder is by then; a kill leaves temporaries for the sweeper. The caller holds the root's lock.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from typing import Final

from sandbox.beneath import Beneath, sync_folder
from sandbox.errors import Escape, Missing, NotAFolder, SandboxError, StorageFailed
from sandbox.names import RelPath
from sandbox.objects import FileIdentity
from sandbox.reading import READ_FILE
from sandbox.records import record
from sandbox.reports import reporting
from sandbox.resolve import READ_FOLDER
from sandbox.steps import Step
from sandbox.temporaries import Temporary, discard
from sandbox.writing import check_text, folder_of, put_in_place, write_beside

FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""What the file system says of a file or folder that may not be changed, whatever others may be."""


@record
class Change:
    """The text that the file at *path* is to get, if it is still the one described by *expect*."""

    path: RelPath
    data: bytes
    expect: FileIdentity


@record
class Staged:
    """A text that waits beside the file at *path*, and what of that file it could not keep."""

    path: RelPath
    temporary: Temporary
    expect: FileIdentity
    not_kept: tuple[str, ...]


def stage(tree: Beneath, changes: Iterable[Change]) -> tuple[Staged | None, ...]:
    """Write the texts of all *changes* beside their files; see `Root.stage`."""
    staged: list[Staged | None] = []
    try:
        for change in changes:
            check_text(tree, change.path, change.data)
            try:
                staged.append(_written(tree, change))
            except StorageFailed as error:
                if error.errno not in FORBIDDEN:
                    raise
                staged.append(None)
        tree.observe(Step.STAGE_WRITTEN)
        for each in staged:
            if each is not None:
                _sync(tree, each)
        tree.observe(Step.STAGE_SYNCED)
    except BaseException:
        drop(tree, staged)
        raise
    return tuple(staged)


def _written(tree: Beneath, change: Change) -> Staged:
    with folder_of(tree, change.path, make=None) as folder, reporting(change.path):
        temporary, not_kept = write_beside(
            tree, folder, change.path, change.data, expect=change.expect, durable=False
        )
        return Staged(change.path, temporary, change.expect, not_kept)


def _sync(tree: Beneath, staged: Staged) -> None:
    name = RelPath((staged.temporary.name.decode(),))
    with (
        tree.open(staged.path.parent, READ_FOLDER) as folder,
        tree.open_last(folder, name, READ_FILE) as temporary,
        reporting(staged.path),
    ):
        os.fsync(temporary)


def put(tree: Beneath, staged: Staged, *, aside: RelPath, path: RelPath) -> None:
    """Put a staged text in place; see `Root.put`."""
    with tree.open(aside, READ_FOLDER) as held:
        try:
            with folder_of(tree, path, make=None) as folder, reporting(path):
                put_in_place(tree, held, staged.temporary, folder, path, expect=staged.expect)
        except BaseException:
            discard(held, staged.temporary)
            raise
    tree.observe(Step.STAGE_PUT)


def stays(folder: RelPath) -> RelPath:
    """Say that a folder is where it was: the default of `drop`."""
    return folder


def drop(
    tree: Beneath, staged: Iterable[Staged | None], *, moved: Callable[[RelPath], RelPath] = stays
) -> None:
    """Remove staged texts that were not put; see `Root.drop`."""
    for each in staged:
        if each is None:
            continue
        former = each.path.parent
        for place in dict.fromkeys((former, moved(former))):
            try:
                with tree.open(place, READ_FOLDER) as folder:
                    discard(folder, each.temporary)
            except SandboxError:
                continue  # the folder cannot be reached any more; the sweeper finds what is in it


def sync(tree: Beneath, folders: Iterable[RelPath]) -> None:
    """Make the names in *folders* durable; see `Root.sync`."""
    for path in dict.fromkeys(folders):
        try:
            with tree.open(path, READ_FOLDER) as folder:
                sync_folder(folder, path)
        except (Missing, NotAFolder, Escape):
            continue
    tree.observe(Step.STAGE_DURABLE)
