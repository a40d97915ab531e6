"""Whether the file system would let this process change something, as far as it says so without trying.

For who tells what a change would do. The kernel is asked by descriptor, for the very accounts and capabilities that a
change is made with.

Limits: an answer is of its moment. What is not asked for is not known: the sticky bit, a full disk, a quota, a network
file system that decides on the server, and what security modules refuse only when it is done.
"""

from __future__ import annotations

import errno
import os

from sandbox.beneath import Beneath
from sandbox.errors import StorageFailed
from sandbox.names import RelPath
from sandbox.reports import reporting
from sandbox.resolve import READ_FOLDER


def check_folder(tree: Beneath, path: RelPath) -> None:
    """Raise StorageFailed where names in the folder at *path* may not be changed; see `Root.check_folder`."""
    with tree.open(path, READ_FOLDER) as folder, reporting(path):
        _check(folder, b".", os.W_OK | os.X_OK, path)


def check_movable_folder(tree: Beneath, path: RelPath) -> None:
    """Raise StorageFailed where the folder at *path* may not get another parent: its `..` is changed then."""
    with tree.open(path.parent, READ_FOLDER) as folder, reporting(path):
        _check(folder, path.name.encode(), os.W_OK, path)


def _check(folder: int, name: bytes, mode: int, path: RelPath) -> None:
    if not os.access(name, mode, dir_fd=folder, effective_ids=True, follow_symlinks=False):
        is_read_only = os.fstatvfs(folder).f_flag & os.ST_RDONLY
        raise StorageFailed(errno.EROFS if is_read_only else errno.EACCES, repr(str(path)))
