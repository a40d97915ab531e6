"""The system calls that Python's `os` does not offer: openat2, renameat2, statx's mount id, inotify, the jail's.

This is the only module that uses ctypes. It decides nothing: every failure is an `OSError` with the
kernel's errno, and a call that this machine or platform does not have fails with ENOSYS, so that callers
have one way to learn that something is missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from typing import Any, Final

from sandbox.records import record

# O_PATH names an object without opening it. Where it does not exist (macOS), a look is an ordinary opening
# that cannot block; that platform is not verified.
O_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)

RESOLVE_NO_XDEV: Final = 0x01
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2

# openat2 answers EAGAIN when a rename elsewhere raced with a `..` or a link; it asks to be tried again.
OPENAT2_ATTEMPTS: Final = 64

_AT_EMPTY_PATH: Final = 0x1000
_STATX_TYPE: Final = 0x0001
_STATX_MNT_ID: Final = 0x1000
_STATX_SIZE: Final = 256
_STATX_MASK_AT: Final = 0x00
_STATX_MODE_AT: Final = 0x1C
_STATX_MNT_ID_AT: Final = 0x90

_OPEN_HOW: Final = struct.Struct("QQQ")

# Calls from 424 on have one number on every machine; older ones do not.
_OPENAT2: Final = 437
_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276, "riscv64": 276}
_STATX: Final = {"x86_64": 332, "aarch64": 291, "riscv64": 291}

_LANDLOCK_CREATE_RULESET: Final = 444
_LANDLOCK_ADD_RULE: Final = 445
_LANDLOCK_RESTRICT_SELF: Final = 446
_MOUNT_SETATTR: Final = 442
_GENERIC: Final = {
    "prctl": 167,
    "capget": 90,
    "capset": 91,
    "unshare": 97,
    "mount": 40,
    "umount2": 39,
    "pivot_root": 41,
    "seccomp": 277,
    "inotify_init1": 26,
    "inotify_add_watch": 27,
    "inotify_rm_watch": 28,
}
_NUMBERS: Final = {
    "x86_64": {
        "prctl": 157,
        "capget": 125,
        "capset": 126,
        "unshare": 272,
        "mount": 165,
        "umount2": 166,
        "pivot_root": 155,
        "seccomp": 317,
        "inotify_init1": 294,
        "inotify_add_watch": 254,
        "inotify_rm_watch": 255,
    },
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
}

# SAFETY: a 32-bit interpreter on a 64-bit kernel uses another table of numbers, in which these mean other
# calls; there, as on other systems, nothing here is available.
_MACHINE: Final = os.uname().machine if sys.platform == "linux" and sys.maxsize > 2**32 else ""
_KNOWN: Final = _MACHINE in _RENAMEAT2

MACHINE: Final = _MACHINE
"""The machine whose numbers are used, or nothing where no number is known to be right."""


def _declare(*arguments: Any) -> Any:
    """Declare `syscall(2)` with fixed argument types, so that no integer is passed in the wrong width."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, *arguments, use_errno=True)
    return prototype(("syscall", ctypes.CDLL(None)))


_openat2 = _declare(ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
_renameat2 = _declare(ctypes.c_long, ctypes.c_char_p, ctypes.c_long, ctypes.c_char_p, ctypes.c_ulong)
_statx = _declare(ctypes.c_long, ctypes.c_char_p, ctypes.c_long, ctypes.c_ulong, ctypes.c_void_p)


def openat2(folder: int, path: bytes, *, flags: int, resolve: int) -> int:
    """Open *path* relative to the descriptor *folder* under the kernel's *resolve* rules.

    The descriptor is always close-on-exec. Never creates a file.
    """
    _need_plain_bytes(path)
    if not _KNOWN:
        raise OSError(errno.ENOSYS, "openat2 is not available here")
    how = _OPEN_HOW.pack(flags | os.O_CLOEXEC, 0, resolve)
    for _ in range(OPENAT2_ATTEMPTS):
        descriptor: int = _openat2(_OPENAT2, folder, path, how, len(how))
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            raise OSError(number, os.strerror(number))
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def renameat2(source_folder: int, source: bytes, target_folder: int, target: bytes, *, flags: int) -> None:
    """Rename between two folders given by descriptor, with RENAME_NOREPLACE or RENAME_EXCHANGE."""
    _need_plain_bytes(source)
    _need_plain_bytes(target)
    if not _KNOWN:
        raise OSError(errno.ENOSYS, "renameat2 is not available here")
    if _renameat2(_RENAMEAT2[_MACHINE], source_folder, source, target_folder, target, flags) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@record
class Glance:
    """What a walk must know about one component: its file type bits, and the mount that it lies on.

    `mount` identifies a mount among those of one process. Where the kernel does not tell mount ids it is
    the device, which cannot see a bind mount of the same file system; `by_device` says so.
    """

    mode: int
    mount: tuple[str, int]

    @property
    def by_device(self) -> bool:
        """Whether the mount is known by its device only."""
        return self.mount[0] == "device"


def glance(descriptor: int) -> Glance:
    """Return type and mount of an open (also O_PATH) descriptor."""
    if _KNOWN:
        buffer = ctypes.create_string_buffer(_STATX_SIZE)
        mask = _STATX_TYPE | _STATX_MNT_ID
        if _statx(_STATX[_MACHINE], descriptor, b"", _AT_EMPTY_PATH, mask, buffer) == 0:
            (got,) = struct.unpack_from("I", buffer, _STATX_MASK_AT)
            if got & mask == mask:
                (mode,) = struct.unpack_from("H", buffer, _STATX_MODE_AT)
                (mount,) = struct.unpack_from("Q", buffer, _STATX_MNT_ID_AT)
                return Glance(stat.S_IFMT(mode), ("mount", mount))
    status = os.fstat(descriptor)
    mount = _mount_id_from_proc(descriptor)
    where = ("device", status.st_dev) if mount is None else ("mount", mount)
    return Glance(stat.S_IFMT(status.st_mode), where)


def _mount_id_from_proc(descriptor: int) -> int | None:
    """Read the mount id from /proc, for kernels whose statx does not know it (before 5.8)."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb") as lines:
            for line in lines.read(4096).splitlines():
                if line.startswith(b"mnt_id:"):
                    return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _need_plain_bytes(path: bytes) -> None:
    # SAFETY: a C string ends at its first NUL, so the kernel would see a shorter path than the one that
    # was checked.
    if b"\0" in path:
        raise OSError(errno.EINVAL, "NUL in a path")


# -- watching ----------------------------------------------------------------------------------

IN_MODIFY: Final = 0x0000_0002
IN_ATTRIB: Final = 0x0000_0004
IN_CLOSE_WRITE: Final = 0x0000_0008
IN_MOVED_FROM: Final = 0x0000_0040
IN_MOVED_TO: Final = 0x0000_0080
IN_CREATE: Final = 0x0000_0100
IN_DELETE: Final = 0x0000_0200
IN_DELETE_SELF: Final = 0x0000_0400
IN_MOVE_SELF: Final = 0x0000_0800
IN_Q_OVERFLOW: Final = 0x0000_4000
IN_IGNORED: Final = 0x0000_8000
IN_ONLYDIR: Final = 0x0100_0000
IN_EXCL_UNLINK: Final = 0x0400_0000
IN_ISDIR: Final = 0x4000_0000


def inotify_init() -> int:
    """Return a descriptor that events are read from: it never blocks and is close-on-exec."""
    flags = os.O_NONBLOCK | os.O_CLOEXEC
    return _checked("inotify_init1", _long_call(_number("inotify_init1"), flags, 0, 0, 0, 0))


def inotify_add_watch(inotify: int, descriptor: int, mask: int) -> int:
    """Watch the very object that *descriptor* holds, whatever its name is by now; return the watch's number.

    An object that is watched already keeps its number. Needs /proc.
    """
    # SAFETY: the kernel follows this magic link to the open object itself and resolves no name of it.
    path = b"/proc/self/fd/%d" % descriptor
    return _checked("inotify_add_watch", _add_watch(_number("inotify_add_watch"), inotify, path, mask))


def inotify_rm_watch(inotify: int, watch: int) -> None:
    """End a watch; EINVAL when it has ended by itself."""
    _checked("inotify_rm_watch", _long_call(_number("inotify_rm_watch"), inotify, watch, 0, 0, 0))


# -- calls of the jail -------------------------------------------------------------------------

PR_SET_PDEATHSIG: Final = 1
PR_GET_DUMPABLE: Final = 3
PR_SET_DUMPABLE: Final = 4
PR_CAPBSET_READ: Final = 23
PR_CAPBSET_DROP: Final = 24
PR_SET_NO_NEW_PRIVS: Final = 38
PR_GET_NO_NEW_PRIVS: Final = 39
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWCGROUP: Final = 0x0200_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000

MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2

MOUNT_ATTR_RDONLY: Final = 1
MOUNT_ATTR_NOSUID: Final = 2
MOUNT_ATTR_NODEV: Final = 4
MOUNT_ATTR_NOEXEC: Final = 8
AT_RECURSIVE: Final = 0x8000

_AT_FDCWD: Final = -100
_LANDLOCK_VERSION: Final = 1
_LANDLOCK_RULE_PATH_BENEATH: Final = 1
_CAPABILITY_VERSION_3: Final = 0x2008_0522
_SECCOMP_SET_MODE_FILTER: Final = 1
_SECCOMP_FILTER_FLAG_TSYNC: Final = 1
_INSTRUCTION_BYTES: Final = 8

_long_call = _declare(*[ctypes.c_long] * 5)
_mount = _declare(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
_two_paths = _declare(ctypes.c_char_p, ctypes.c_char_p)
_path_and_flags = _declare(ctypes.c_char_p, ctypes.c_long)
_two_buffers = _declare(ctypes.c_char_p, ctypes.c_void_p)
_mount_setattr = _declare(ctypes.c_long, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_size_t)
_create_ruleset = _declare(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_ulong)
_add_rule = _declare(ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_ulong)
_seccomp = _declare(ctypes.c_ulong, ctypes.c_ulong, ctypes.c_char_p)
_add_watch = _declare(ctypes.c_long, ctypes.c_char_p, ctypes.c_ulong)


def _number(name: str) -> int:
    if not _KNOWN:
        raise OSError(errno.ENOSYS, f"{name} is not available here")
    return _NUMBERS[_MACHINE][name]


def _checked(name: str, result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def prctl(option: int, first: int = 0, second: int = 0) -> int:
    """Call prctl(2); the arguments that no option of ours uses are zero."""
    return _checked("prctl", _long_call(_number("prctl"), option, first, second, 0, 0))


def raw_call(number: int, *arguments: int) -> int:
    """Make the call *number* with whole numbers: for attempts at what must be refused, and nothing else."""
    _number("prctl")  # where no number is known to be right, this one is not either
    return _checked("raw call", _long_call(number, *arguments, *[0] * (5 - len(arguments))))


def unshare(flags: int) -> None:
    """Put the calling thread into namespaces of its own."""
    _checked("unshare", _long_call(_number("unshare"), flags, 0, 0, 0, 0))


def mount(source: bytes | None, target: bytes, *, kind: bytes | None, flags: int, data: bytes | None) -> None:
    """Call mount(2)."""
    for text in (source, target):
        _need_plain_bytes(text or b"")
    _checked("mount", _mount(_number("mount"), source, target, kind, flags, data))


def unmount_detached(target: bytes) -> None:
    """Take a mount out of the tree at once, however it is used."""
    _checked("umount2", _path_and_flags(_number("umount2"), target, MNT_DETACH))


def pivot_root(new: bytes, old: bytes) -> None:
    """Make the mount at *new* the root and put the former one at *old*."""
    _checked("pivot_root", _two_paths(_number("pivot_root"), new, old))


def add_mount_attributes(target: bytes, attributes: int, *, recursive: bool) -> None:
    """Set attributes of the mount at *target*, and of all beneath it; what was set before stays (5.12)."""
    if not _KNOWN:
        raise OSError(errno.ENOSYS, "mount_setattr is not available here")
    what = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    _checked("mount_setattr", _mount_setattr(_MOUNT_SETATTR, _AT_FDCWD, target, flags, what, len(what)))


def clear_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets of the calling thread."""
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _checked("capset", _two_buffers(_number("capset"), header, ctypes.create_string_buffer(24)))


def capabilities() -> tuple[int, int, int]:
    """Return the effective, permitted and inheritable sets of the calling thread."""
    header, data = struct.pack("Ii", _CAPABILITY_VERSION_3, 0), ctypes.create_string_buffer(24)
    _checked("capget", _two_buffers(_number("capget"), header, data))
    low = struct.unpack_from("III", data, 0)
    high = struct.unpack_from("III", data, 12)
    return (low[0] | high[0] << 32, low[1] | high[1] << 32, low[2] | high[2] << 32)


def landlock_abi() -> int:
    """Return what the kernel calls its Landlock version; ENOSYS or EOPNOTSUPP where there is none."""
    if not _KNOWN:
        raise OSError(errno.ENOSYS, "landlock is not available here")
    found = _create_ruleset(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    return _checked("landlock_create_ruleset", found)


def landlock_create_ruleset(attributes: bytes) -> int:
    """Return the descriptor of a ruleset that denies what *attributes* name."""
    made = _create_ruleset(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    return _checked("landlock_create_ruleset", made)


def landlock_allow_beneath(ruleset: int, folder: int, rights: int) -> None:
    """Allow *rights* on everything beneath the directory that the descriptor *folder* names."""
    rule = struct.pack("=Qi", rights, folder)  # the kernel's structure is packed
    added = _add_rule(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_RULE_PATH_BENEATH, rule, 0)
    _checked("landlock_add_rule", added)


def landlock_restrict_self(ruleset: int) -> None:
    """Put the calling thread under *ruleset* for good; needs no_new_privs."""
    _checked("landlock_restrict_self", _long_call(_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0, 0, 0))


def install_filter(program: bytes) -> None:
    """Put every thread under a seccomp filter for good; needs no_new_privs."""
    held = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("H6xQ", len(program) // _INSTRUCTION_BYTES, ctypes.addressof(held))
    done = _seccomp(_number("seccomp"), _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_TSYNC, description)
    if done > 0:
        raise OSError(errno.ESRCH, "seccomp: a thread could not follow")
    _checked("seccomp", done)
