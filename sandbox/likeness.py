"""What a rewritten file keeps of the former one: owner, extended attributes (ACLs among them), mode.

Not kept, by design: the set-id and sticky bits and file capabilities, which would bless a text that nobody
reviewed. Cannot be kept: the time of birth, the inode number, and inode flags.

Nobody may do more with the rewritten file than with the former one. So where its group or its ACL is lost, its mode
is a narrower one; and where nobody can tell whether there is an ACL, as in a worker that may not ask, what is left is
what the owner may, and what its group and all others might alike.
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
ATTRIBUTES: Final = "extended attributes"

PRIVATE: Final = 0o600
"""Mode of a file whose final mode is set when its text is in it."""

_ACL: Final = "system.posix_acl_access"
_CAPABILITY: Final = "security.capability"
_MAX_ATTRIBUTES: Final = 1_000
_KEEPS_NONE: Final = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP})
_NOT_TOLD: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EACCES})


class Likeness:
    """What another file is to be given of the opened file *model*, which stays open meanwhile. Raises OSError."""

    __slots__ = ("_attributes", "_model", "_wanted")

    def __init__(self, model: int) -> None:
        self._model = model
        self._wanted = os.fstat(model)
        self._attributes = _attributes(model)

    @property
    def mode_at_first(self) -> int:
        """The mode to make the other file with.

        Who may not look at attributes can hardly change a mode later, so it has what it can have from the beginning.
        """
        return PRIVATE if self._attributes is not None else _shared_alike(self._wanted.st_mode)

    def give(self, fd: int) -> tuple[str, ...]:
        """Give the file *fd*, made for it, owner, attributes and mode; return the names of what was not kept.

        Best effort by nature: a process may not be permitted to. Never raises OSError for that.
        """
        lost = self._give_owner(fd)
        mode = self._wanted.st_mode & 0o777
        is_group_lost = GROUP in lost
        if self._attributes is None:
            lost.append(ATTRIBUTES)
            mode = _shared_alike(mode)
        else:
            is_acl_kept = self._give_attributes(fd, self._attributes, lost, is_group_lost=is_group_lost)
            if not is_acl_kept:
                mode &= 0o700
            elif is_group_lost:
                mode = _shared_alike(mode)
        if self._wanted.st_mode & ~0o777 & 0o7777:
            lost.append(SPECIAL_BITS)
        try:
            # After the attributes: an ACL's mask and the group bits are one thing, and the mode has them.
            os.fchmod(fd, mode)
        except OSError:
            # What it was made with, or the ACL has set, is no wider.
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode != self._wanted.st_mode & 0o777:
            lost.append(MODE)
        return tuple(lost)

    def _give_owner(self, fd: int) -> list[str]:
        have, wanted = os.fstat(fd), self._wanted
        lost = []
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
        return lost

    def _give_attributes(self, fd: int, wanted: set[str], lost: list[str], *, is_group_lost: bool) -> bool:
        """Give the attributes; return whether the file has the model's ACL, or neither has any."""
        is_acl_kept = True
        for name in sorted(wanted):
            try:
                if name == _CAPABILITY or (name == _ACL and is_group_lost):
                    raise PermissionError(errno.EPERM, "not kept")
                value = os.getxattr(self._model, name)
                if not _has(fd, name, value):
                    os.setxattr(fd, name, value)
            except OSError:
                lost.append(name)
                is_acl_kept = is_acl_kept and name != _ACL
        have = _attributes(fd)
        if have is None:
            return False
        # A folder's default ACL gives the temporary attributes that the former file did not have.
        for name in sorted(have - wanted):
            try:
                os.removexattr(fd, name)
            except OSError:
                is_acl_kept = is_acl_kept and name != _ACL  # others are labels that the system insists on
        return is_acl_kept


def _shared_alike(mode: int) -> int:
    """Return what of *mode* is the owner's, and what its group and all others have alike."""
    shared = (mode >> 3) & mode & 0o7
    return mode & 0o700 | shared << 3 | shared


def _attributes(fd: int) -> set[str] | None:
    """Return the names of a file's attributes; None where that is not told."""
    if not hasattr(os, "listxattr"):  # macOS
        return set()
    try:
        return set(os.listxattr(fd)[:_MAX_ATTRIBUTES])
    except OSError as error:
        if error.errno in _KEEPS_NONE:
            return set()
        if error.errno in _NOT_TOLD:
            return None
        raise


def _has(fd: int, name: str, value: bytes) -> bool:
    try:
        return os.getxattr(fd, name) == value
    except OSError:
        return False
