"""Landlock: which files a worker may open, from the kernel's own point of view.

Every right that the kernel's version knows is denied, and then few are given back beneath two directories,
named by descriptor. Where the version has them, TCP is denied, and so are signals and abstract sockets to
processes outside. Executing, making links, devices, pipes and sockets, and device ioctls are never given.

Not guarded by Landlock at all, whatever its version: existence, size and times of files outside, changing
to a folder, UDP, locks; modes, owners and attributes by path, or by a descriptor that was opened neither to read
nor to write. Namespaces hide the files and seccomp leaves out the calls.

Numbers: linux/landlock.h. Versions past the table are treated as its last one, never as "all bits".
"""

from __future__ import annotations

import errno
import os
import struct
from enum import IntFlag
from typing import Final

from sandbox import _linux
from sandbox.jail.report import WorkerKind
from sandbox.records import record


class Right(IntFlag):
    """What may be done with what lies beneath a directory (LANDLOCK_ACCESS_FS_*)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


@record
class Abi:
    """What one version of Landlock can guard: rights on files, TCP, and what lies outside the domain."""

    files: Right
    net: int
    scope: int


_TCP: Final = 0b11  # bind, connect
_OUTSIDE: Final = 0b11  # abstract unix sockets, signals

TABLE: Final[dict[int, Abi]] = {
    1: Abi(Right((1 << 13) - 1), 0, 0),
    2: Abi(Right((1 << 14) - 1), 0, 0),
    3: Abi(Right((1 << 15) - 1), 0, 0),
    4: Abi(Right((1 << 15) - 1), _TCP, 0),
    5: Abi(Right((1 << 16) - 1), _TCP, 0),
    6: Abi(Right((1 << 16) - 1), _TCP, _OUTSIDE),
    7: Abi(Right((1 << 16) - 1), _TCP, _OUTSIDE),
}

READ: Final = Right.READ_FILE | Right.READ_DIR
WRITE: Final = (
    READ
    | Right.WRITE_FILE
    | Right.TRUNCATE
    | Right.MAKE_REG
    | Right.MAKE_DIR
    | Right.REMOVE_FILE
    | Right.REMOVE_DIR
    | Right.REFER
)
KEEP_DATABASE: Final = READ | Right.WRITE_FILE | Right.TRUNCATE | Right.MAKE_REG | Right.REMOVE_FILE
"""Files of one folder, and no folders: what SQLite needs for a database and its journal."""

_RIGHTS: Final[dict[WorkerKind, tuple[Right, Right]]] = {
    "ro": (READ, READ),
    "rw": (WRITE, KEEP_DATABASE),
    "index": (READ, KEEP_DATABASE),
}


def rights_of(kind: WorkerKind) -> tuple[Right, Right]:
    """Return what a kind of worker may do in the workspace, and in the folder of the index."""
    return _RIGHTS[kind]


def known(abi: int) -> Abi:
    """Return what is used of the kernel's version: the table's last row for versions past it."""
    return TABLE[min(abi, max(TABLE))]


def attributes(abi: int) -> bytes:
    """Return the `landlock_ruleset_attr` that denies everything the version can guard, in its size."""
    row = known(abi)
    whole = struct.pack("QQQ", row.files, row.net, row.scope)
    return whole[: 8 if abi < 4 else 16 if abi < 6 else 24]


@record
class Restricted:
    """What was put in force."""

    abi: int
    files: Right
    net: bool
    scope: bool


def restrict(rules: tuple[tuple[int, Right], ...]) -> Restricted:
    """Deny this thread everything but the *rules* (directory descriptor, rights), for good.

    Needs no_new_privs and a process of one thread. Raises OSError with the name of the call that failed;
    then nothing is in force.
    """
    abi = _linux.landlock_abi()
    if abi < min(TABLE):
        raise OSError(errno.EOPNOTSUPP, "landlock_create_ruleset")
    row = known(abi)
    ruleset = _linux.landlock_create_ruleset(attributes(abi))
    try:
        for folder, rights in rules:
            # A right that the version does not know is neither denied nor given.
            _linux.landlock_allow_beneath(ruleset, folder, int(rights & row.files))
        _linux.landlock_restrict_self(ruleset)
    finally:
        os.close(ruleset)
    return Restricted(abi, row.files, net=bool(row.net), scope=bool(row.scope))
