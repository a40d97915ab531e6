"""Whatever of a rewritten file cannot be kept, nobody may do more with it than with the former one, and it is told."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.likeness import ATTRIBUTES, GROUP, MODE, OWNER, Likeness
from sandbox.names import RelPath
from tests.disk import Tree
from tests.require import require

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
NAMED, OTHER_NAMED, MEMBER, STRANGER = 12345, 54321, 2001, 2002
"""Accounts: two that an ACL names, one of the file's group, one of none."""

Acl = tuple[tuple[int, int, int], ...]
"""Tag, rights, and whom."""

USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 1, 2, 4, 16, 32
NOBODY = 2**32 - 1

GIVES: Acl = (
    (USER_OBJ, 6, NOBODY),
    (USER, 4, NAMED),
    (GROUP_OBJ, 0, NOBODY),
    (MASK, 4, NOBODY),
    (OTHER, 0, NOBODY),
)
"""Read for one more; of the mode it looks as if the group might."""
DENIES: Acl = (
    (USER_OBJ, 6, NOBODY),
    (USER, 0, NAMED),
    (GROUP_OBJ, 4, NOBODY),
    (MASK, 4, NOBODY),
    (OTHER, 4, NOBODY),
)
"""Nothing for one whom all others are better off than."""
INHERITED: Acl = (
    (USER_OBJ, 7, NOBODY),
    (USER, 7, OTHER_NAMED),
    (GROUP_OBJ, 7, NOBODY),
    (MASK, 7, NOBODY),
    (OTHER, 7, NOBODY),
)

EVERYTHING = ("fchmod", "fchown", "getxattr", "listxattr", "removexattr", "setxattr")
REFUSED: tuple[tuple[str, ...], ...] = (
    (),
    ("fchmod",),
    ("fchown",),
    ("setxattr",),
    ("removexattr",),
    ("fchown", "fchmod"),
    ("setxattr", "removexattr"),
    ("fchown", "setxattr", "removexattr"),
    ("getxattr",),
    ("listxattr",),
    EVERYTHING,
)
MODES = (0o400, 0o600, 0o604, 0o640, 0o644, 0o660, 0o664, 0o755)


def packed(acl: Acl) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in acl)


def acl_of(path: str) -> Acl:
    status = os.stat(path)
    try:
        value = os.getxattr(path, ACCESS)
    except OSError:
        mode = status.st_mode
        return (
            (USER_OBJ, mode >> 6 & 7, NOBODY),
            (GROUP_OBJ, mode >> 3 & 7, NOBODY),
            (OTHER, mode & 7, NOBODY),
        )
    return tuple(struct.iter_unpack("<HHI", value[4:]))


def rights(path: str, uid: int, gid: int) -> int:
    """What an account may do with a file, by POSIX.1e."""
    status, acl = os.stat(path), acl_of(path)
    found = {(tag, whom if tag == USER else NOBODY): allowed for tag, allowed, whom in acl}
    mask = found.get((MASK, NOBODY), 7)
    if uid == status.st_uid:
        return found[USER_OBJ, NOBODY]
    if (USER, uid) in found:
        return found[USER, uid] & mask
    if gid == status.st_gid:
        return found[GROUP_OBJ, NOBODY] & mask
    return found[OTHER, NOBODY]


@contextmanager
def refused(names: tuple[str, ...]) -> Iterator[None]:
    """Have calls refused, as a filter does it."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "refused")

    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(os, name, refuse)
        yield


@pytest.fixture(autouse=True)
def _no_umask() -> Iterator[None]:
    """Let nothing else make a mode narrower."""
    former = os.umask(0)
    yield
    os.umask(former)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which files can have ACLs."""
    try:
        os.setxattr(tmp_path, ACCESS, packed(GIVES))
    except OSError as error:
        require("ACLs", available=False, why=str(error))
    os.removexattr(tmp_path, ACCESS)
    tmp_path.chmod(0o700)
    return tmp_path


def make(path: str, mode: int) -> None:
    """Make the former file, without what its folder gives to files."""
    with open(path, "wb"):
        for name in os.listxattr(path):
            os.removexattr(path, name)
    os.chmod(path, mode)


def rewritten(path: str, calls: tuple[str, ...]) -> tuple[str, ...]:
    """Put another file in the place of the one at *path*, likened to it; return what it could not be given."""
    model = os.open(path, os.O_RDONLY)
    try:
        with refused(calls):
            likeness = Likeness(model)
            other = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, likeness.mode_at_first)
            try:
                lost = likeness.give(other)
            finally:
                os.close(other)
    finally:
        os.close(model)
    os.rename(f"{path}.new", path)
    return lost


@pytest.mark.parametrize("calls", REFUSED, ids="+".join)
@pytest.mark.parametrize("default", [None, INHERITED], ids=["plain", "inherited"])
@pytest.mark.parametrize("acl", [None, GIVES, DENIES], ids=["none", "gives", "denies"])
def test_whatever_is_refused_nobody_gains_and_what_is_lost_is_named(
    folder: Path, acl: Acl | None, default: Acl | None, calls: tuple[str, ...]
) -> None:
    path = f"{folder}/a.md"
    gid = 5678 if os.geteuid() == 0 else os.getegid()
    if default is not None:
        os.setxattr(folder, DEFAULT, packed(default))
    for mode in MODES:
        make(path, mode)
        if acl is not None:
            os.setxattr(path, ACCESS, packed(acl))
        if os.geteuid() == 0:
            os.chown(path, 1234, gid)
        before = os.stat(path)
        accounts = tuple(itertools.product((MEMBER, STRANGER, NAMED, OTHER_NAMED), (gid, os.getegid(), 9999)))
        could = {account: rights(path, *account) for account in accounts}
        lost = rewritten(path, calls)
        can = {account: rights(path, *account) for account in accounts}
        after = os.stat(path)
        if "listxattr" in calls and acl is DENIES:
            # Nobody could tell that there was an ACL: who was denied what all others might is one of them now.
            can = {account: may for account, may in can.items() if account[0] != NAMED}
        gained = {account: (could[account], may) for account, may in can.items() if may & ~could[account]}
        assert gained == {}, (oct(mode), lost)
        assert (MODE in lost) is (stat.S_IMODE(before.st_mode) != stat.S_IMODE(after.st_mode)), oct(mode)
        assert (OWNER in lost, GROUP in lost) == (
            before.st_uid != after.st_uid,
            before.st_gid != after.st_gid,
        )
        assert (ATTRIBUTES in lost) is ("listxattr" in calls)
        if acl is not None and "listxattr" not in calls:
            assert (ACCESS in lost) is (acl_of(path) != acl)
        if not calls:
            assert (lost, stat.S_IMODE(after.st_mode)) == ((), stat.S_IMODE(before.st_mode))


def test_a_mode_that_can_be_given_at_first_stays_where_nothing_can_be_changed_later(disk: Tree) -> None:
    """As in a worker that has openat2 in the tree of the host, and so no call that changes a mode."""
    disk.build("root/a.md: old")
    for mode, left in {
        0o600: 0o600,
        0o644: 0o644,
        0o400: 0o400,
        0o755: 0o755,
        0o640: 0o600,
        0o664: 0o644,
    }.items():
        disk.chmod("root/a.md", mode)
        with disk.open_root() as root, refused(EVERYTHING):
            found = root.replace(RelPath.parse("a.md"), b"new", expect=root.stat(RelPath.parse("a.md")))
        assert stat.S_IMODE(os.stat(disk.path("root/a.md")).st_mode) == left
        assert found.not_kept == ((ATTRIBUTES,) if mode == left else (ATTRIBUTES, MODE))
