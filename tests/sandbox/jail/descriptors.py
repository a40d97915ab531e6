"""More ways out, by what is done with a descriptor rather than with a path.

A descriptor without access: the access mode 3 of an opening asks for neither reading nor writing, so Landlock, which
judges both, judges nothing. The account must be allowed to do both, and then the kernel lets modes, owners, times and
attributes be changed by it. Then what each kind of worker may do to its own workspace and index, and to their locks.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
from collections.abc import Callable

from tests.sandbox.jail.attempts import ATTEMPTS, OF_FILES, Target, attempt, call, has_call

NO_ACCESS = os.O_WRONLY | os.O_RDWR
WHITEOUT = 1 << 2

Open = Callable[[str, int], int]
Deed = Callable[[int], object]


def by_open(path: str, flags: int) -> int:
    """Open as programs did that are older than `openat`; machines that are younger have that alone."""
    mode, flags = _parted(flags)
    return call("open", path.encode(), flags, mode) if has_call("open") else os.open(path, flags, mode)


def by_openat(path: str, flags: int) -> int:
    """Open as the C library does."""
    mode, flags = _parted(flags)
    return os.open(path, flags, mode)


def by_openat2(path: str, flags: int) -> int:
    """Open with flags that lie in memory."""
    mode, flags = _parted(flags)
    makes = flags & (os.O_CREAT | os.O_TMPFILE & ~os.O_DIRECTORY)
    how = struct.pack("QQQ", flags, mode if makes else 0, 0)
    return call("openat2", -100, path.encode(), how, len(how))


WAYS: dict[str, Open] = {"open": by_open, "openat": by_openat, "openat2": by_openat2}

DEEDS: dict[str, Deed] = {
    "open": lambda fd: fd,
    "chmod": lambda fd: os.fchmod(fd, 0o666),
    "chown": lambda fd: os.fchown(fd, os.getuid(), os.getgid()),
    "utime": lambda fd: os.utime(fd, (1, 1)),
    "setxattr": lambda fd: os.setxattr(fd, "user.left", b"1"),
    "removexattr": lambda fd: os.removexattr(fd, "user.tag"),
    "getxattr": lambda fd: os.getxattr(fd, "user.tag"),
    "listxattr": lambda fd: os.listxattr(fd),
    "see_locks": lambda fd: fcntl.fcntl(fd, fcntl.F_GETLK, _whole_file(fcntl.F_WRLCK)),
}
"""What a descriptor without access is good for."""


def _parted(flags: int) -> tuple[int, int]:
    """Return the mode of what is made, and the flags: set-id bits stand above all flags here."""
    return 0o600 | (flags >> _ABOVE), flags & ((1 << _ABOVE) - 1)


_ABOVE = 32
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL
SET_ID_FILE = _NEW | 0o4111 << _ABOVE
SET_GROUP_FILE = _NEW | 0o2105 << _ABOVE
"""Without the right of the group to run it, a file keeps the bit when it is written."""


def has_mode(file: int, bits: int) -> bool:
    """Say that a file has these bits. Raises PermissionError where it does not."""
    if os.fstat(file).st_mode & bits != bits:
        raise PermissionError(errno.EPERM, "it has another mode")
    return True


def give_to_group(file: int) -> bool:
    """Give a file's group the right to run it by an ACL, which clears no set-id bit as a change of the mode does."""
    entries = ((1, 7), (4, 5), (0x20, 5))  # owner, group, others
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each, 0xFFFF_FFFF) for each in entries)
    os.setxattr(file, "system.posix_acl_access", acl)
    return True


def _whole_file(kind: int) -> bytes:
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)


def _put(name: str, way: Open, place: Callable[[Target], str], flags: int, deed: Deed) -> None:
    def act(t: Target) -> object:
        return deed(way(place(t), flags))

    ATTEMPTS[name] = act


_ELSEWHERE = frozenset(ATTEMPTS)

for _way, _open in WAYS.items():
    for _what, _deed in DEEDS.items():
        _put(f"{_what}_outside_by_{_way}", _open, lambda t: f"{t.outside}/secret.txt", NO_ACCESS, _deed)
    for _what in ("chmod", "utime", "setxattr"):
        for _file in ("keys", "ledger"):
            _put(
                f"{_what}_the_{_file}_by_{_way}",
                _open,
                lambda t, file=_file: f"{t.state}/private/{file}",  # type: ignore[misc]  # a default
                NO_ACCESS,
                DEEDS[_what],
            )
    _put(f"open_a_device_by_{_way}", _open, lambda _: "/dev/null", NO_ACCESS, DEEDS["open"])
    for _what, _file, _flag in (("empty", "victim.txt", os.O_TRUNC), ("make", "made.txt", os.O_CREAT)):
        _put(
            f"{_what}_outside_by_{_way}",
            _open,
            lambda t, file=_file: f"{t.outside}/{file}",  # type: ignore[misc]  # a default
            NO_ACCESS | _flag,
            DEEDS["open"],
        )
    _put(
        f"nameless_file_outside_by_{_way}",
        _open,
        lambda t: t.outside,
        NO_ACCESS | os.O_TMPFILE,
        DEEDS["open"],
    )

    _put(
        f"set_id_by_{_way}",
        _open,
        lambda _: "made.md",
        SET_ID_FILE,
        lambda fd: has_mode(fd, 0o4000),
    )
    _put(
        f"set_group_id_program_by_{_way}",
        _open,
        lambda _: "made.md",
        SET_GROUP_FILE,
        lambda fd: os.write(fd, b"\x7fELF") and give_to_group(fd) and has_mode(fd, 0o2010),
    )

BY_OPENAT2 = frozenset(name for name in ATTEMPTS if name.endswith("_by_openat2"))

for _what in ("chmod", "chown", "utime", "setxattr", "removexattr", "getxattr"):
    _put(f"{_what}_inside", by_openat, lambda _: "mine.md", os.O_RDONLY, DEEDS[_what])
for _what in ("chmod", "utime", "setxattr"):
    _put(f"{_what}_the_workspace", by_openat, lambda _: ".", os.O_RDONLY, DEEDS[_what])
    _put(f"{_what}_the_index", by_openat, lambda t: f"{index_of(t)}/cache", os.O_RDONLY, DEEDS[_what])


def index_of(t: Target) -> str:
    """Return where the index is, as seen from here."""
    return "/index" if os.path.isdir("/index") else t.index


@attempt
def lock_a_file_outside(t: Target) -> object:
    """It must be open to be read or written; without either, the kernel locks nothing."""
    return fcntl.flock(os.open(f"{t.state}/private/ledger", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


@attempt
def statfs_outside_by_descriptor(t: Target) -> object:
    return os.statvfs(os.open(t.outside, os.O_PATH)).f_bfree


@attempt
def nameless_file_inside(t: Target) -> object:
    return os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)


@attempt
def share_memory_with_a_note(t: Target) -> object:
    """What is written so takes no set-id bit away."""
    with mmap.mmap(os.open("mine.md", os.O_RDWR), 1, mmap.MAP_SHARED) as shared:
        shared[0:1] = b"x"
        return True


@attempt
def leave_a_device(t: Target) -> object:
    """A whiteout, which is a character device 0:0."""
    here = os.open(".", os.O_RDONLY)
    return call("renameat2", here, b"mine.md", here, b"moved.md", WHITEOUT)


# -- what a kind may do to what it is for ------------------------------------------------------


@attempt
def change_a_hidden_file(t: Target) -> object:
    return os.write(os.open(".git/config", os.O_WRONLY | os.O_APPEND), b"[core]\n\tfsmonitor = true\n")


@attempt
def plant_a_hook(t: Target) -> object:
    return os.open(".git/hooks/post-commit", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)


@attempt
def remove_a_hidden_file(t: Target) -> object:
    return os.unlink(".git/config")


@attempt
def lock_the_workspace(t: Target) -> object:
    """Everybody who changes a note waits for it."""
    return fcntl.flock(os.open(".", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


@attempt
def lock_the_workspace_shared(t: Target) -> object:
    return fcntl.flock(os.open(".", os.O_RDONLY), fcntl.LOCK_SH | fcntl.LOCK_NB)


@attempt
def falsify_the_index(t: Target) -> object:
    return os.write(os.open(f"{index_of(t)}/cache", os.O_WRONLY | os.O_APPEND), b"x")


@attempt
def fill_the_disk_beside_the_index(t: Target) -> object:
    for count in range(100):
        os.close(os.open(f"{index_of(t)}/small-{count}", os.O_WRONLY | os.O_CREAT))
    return True


@attempt
def hold_the_index(t: Target) -> object:
    """As a reader does, and never let go: nobody can write meanwhile."""
    descriptor = os.open(f"{index_of(t)}/cache", os.O_RDONLY)
    return fcntl.fcntl(descriptor, fcntl.F_SETLK, _whole_file(fcntl.F_RDLCK))


BY_KIND = (
    OF_FILES | (ATTEMPTS.keys() - _ELSEWHERE) | {"fill_disk", "big_file", "set_id_bit", "flags_of_a_file"}
)
"""The attempts that the kind of a worker can make a difference to."""
