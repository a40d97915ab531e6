"""Sweeping: temporaries that a killed write left behind go to the trash, never away.

After a kill between an exchange and its check, a temporary may hold a text that is somebody's only copy. So
it is moved to `.trash/swept-<UTC time>/<its folder>/`, where a person can look at it. The one exception is a
second name of a file that has its proper name beside it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from typing import Final

from sandbox.beneath import Beneath, Descriptor, sync_folder
from sandbox.errors import PathError, SandboxError, StorageFailed
from sandbox.folders import OWN_FOLDER, FolderForChange
from sandbox.names import MAX_DEPTH, OWN_PREFIX, TRASH_FOLDER
from sandbox.objects import FileIdentity, SweepReport
from sandbox.records import record
from sandbox.renaming import lstat, move_to_private
from sandbox.resolve import READ_FOLDER
from sandbox.trash import TrashResolver

SWEPT_FORMAT: Final = "swept-%Y%m%dT%H%M%SZ"

_PREFIX: Final = OWN_PREFIX.encode()
_TRASH: Final = TRASH_FOLDER.encode()


@record
class _Found:
    folder: tuple[bytes, ...]
    name: bytes


def sweep(tree: Beneath, *, now: float, older_than: float) -> SweepReport:
    """Move temporaries older than *older_than* seconds to the trash; see `Root.sweep`."""
    found, complete = _find(tree)
    entry = time.strftime(SWEPT_FORMAT, time.gmtime(now)).encode()
    moved = sum(_sweep_one(tree, each, entry, before=now - older_than) for each in found)
    return SweepReport(moved, complete)


def _find(tree: Beneath) -> tuple[list[_Found], bool]:
    """Walk the tree breadth first, on one descriptor at a time; at most `max_entries` names in all."""
    found: list[_Found] = []
    room = tree.policy.max_entries
    complete = True
    waiting: deque[tuple[bytes, ...]] = deque([()])
    while waiting:
        parts = waiting.popleft()
        try:
            descriptor = tree.plain.open(tree.fd, parts, READ_FOLDER)
        except SandboxError:
            continue  # a mount, gone, or not ours to read
        try:
            with Descriptor(descriptor) as folder, os.scandir(folder) as entries:
                for entry in entries:
                    if room == 0:
                        return found, False
                    room -= 1
                    name = os.fsencode(entry.name)
                    if name.startswith(_PREFIX):
                        found.append(_Found(parts, name))
                    elif entry.is_dir(follow_symlinks=False) and (parts or name != _TRASH):
                        if len(parts) < MAX_DEPTH:
                            waiting.append((*parts, name))
                        else:
                            complete = False
        except OSError:
            complete = False  # what of it cannot be read is found the next time
    return found, complete


def _sweep_one(tree: Beneath, found: _Found, entry: bytes, *, before: float) -> bool:
    try:
        with Descriptor(tree.plain.open(tree.fd, found.folder, READ_FOLDER)) as folder:
            status = os.stat(found.name, dir_fd=folder, follow_symlinks=False)
            # A temporary that came out of an exchange has the age of the text in it: the change of its name
            # (ctime) counts as well.
            if not max(status.st_mtime, status.st_ctime) < before:
                return False
            if status.st_nlink > 1 and _drop_second_name(folder, found.name, FileIdentity.of(status)):
                return True
            return _move_to_trash(tree, folder, found, entry)
    except (OSError, PathError, StorageFailed):
        return False  # gone meanwhile, or it cannot be moved: it is found again the next time


def _move_to_trash(tree: Beneath, folder: int, found: _Found, entry: bytes) -> bool:
    trash = TrashResolver(tree.plain)
    into = FolderForChange(
        tree.fd, (_TRASH, entry, *found.folder), resolver=trash, make=OWN_FOLDER, shown=TRASH_FOLDER
    )
    with into as target:
        move_to_private(folder, found.name, target, found.name)
        # It is there, so it is counted. Where that does not last, it is found again.
        with suppress(StorageFailed):
            sync_folder(target, TRASH_FOLDER)
            sync_folder(folder, TRASH_FOLDER)
    return True


def _drop_second_name(folder: int, name: bytes, identity: FileIdentity) -> bool:
    """Drop a temporary whose file has another name beside it: a create that was killed between two links."""
    with os.scandir(folder) as entries:
        twin = next((each.name for each in entries if _is_twin(each, identity)), None)
    if twin is None or not lstat(folder, os.fsencode(twin)).is_same_file(identity):
        return False
    # SAFETY: the text keeps the name that was just looked at. If somebody writes over that name in this
    # very instant, they replace the text, as they would have if the create had not been killed.
    os.unlink(name, dir_fd=folder)
    return True


def _is_twin(entry: os.DirEntry[str], identity: FileIdentity) -> bool:
    return entry.inode() == identity.ino and not entry.name.startswith(OWN_PREFIX)
