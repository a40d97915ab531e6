"""What a rewritten file keeps of the former one: owner, extended attributes (ACLs among them), mode.

Not kept, by design: the set-id and sticky bits and file capabilities, which would bless a text that nobody
reviewed. Cannot be kept: the time of birth, the inode number, and inode flags.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

SPECIAL_BITS: Final = "special mode bits"
OWNER: Final = "owner"
GROUP: Final = "group"
MODE: Final = "mode"

_CAPABILITY: Final = "security.capability"
_MAX_ATTRIBUTES: Final = 1_000
_KEEPS_NONE: Final = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM, errno.EACCES})


def liken(fd: int, model: int) -> tuple[str, ...]:
    """Give the file *fd* the owner, attributes and mode of *model*; return the names of what was not kept.

    Best effort by nature: a process may not be permitted to. Never raises OSError for that.
    """
    lost: list[str] = []
    wanted = os.fstat(model)
    _keep_owner(fd, wanted, lost)
    _keep_attributes(fd, model, lost)
    if wanted.st_mode & ~0o777 & 0o7777:
        lost.append(SPECIAL_BITS)
    try:
        # After the attributes: an ACL's mask and the group bits are one thing, and the mode has them.
        os.fchmod(fd, stat.S_IMODE(wanted.st_mode) & 0o777)
    except OSError:
        lost.append(MODE)
    return tuple(lost)


def _keep_owner(fd: int, wanted: os.stat_result, lost: list[str]) -> None:
    have = os.fstat(fd)
    for what, differs, uid, gid in (
        (GROUP, have.st_gid != wanted.st_gid, -1, wanted.st_gid),
        (OWNER, have.st_uid != wanted.st_uid, wanted.st_uid, -1),
    ):
        if not differs:
            continue
        try:
            os.fchown(fd, uid, gid)
        except OSError:
            lost.append(what)


def _keep_attributes(fd: int, model: int, lost: list[str]) -> None:
    if not hasattr(os, "listxattr"):  # macOS
        return
    wanted = _attributes(model)
    if wanted is None:
        return
    for name in sorted(wanted):
        try:
            if name == _CAPABILITY:
                raise PermissionError(errno.EPERM, "never kept")
            value = os.getxattr(model, name)
            if not _has(fd, name, value):
                os.setxattr(fd, name, value)
        except OSError:
            lost.append(name)
    # A folder's default ACL gives the temporary attributes that the former file did not have.
    for name in sorted((_attributes(fd) or set()) - wanted):
        try:
            os.removexattr(fd, name)
        except OSError:
            pass  # a label that the system insists on


def _attributes(fd: int) -> set[str] | None:
    try:
        return set(os.listxattr(fd)[:_MAX_ATTRIBUTES])
    except OSError as error:
        if error.errno in _KEEPS_NONE:
            return None
        raise


def _has(fd: int, name: str, value: bytes) -> bool:
    try:
        return os.getxattr(fd, name) == value
    except OSError:
        return False
