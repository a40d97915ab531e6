"""The system calls that Python's `os` does not offer: openat2, renameat2 and statx's mount id.

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
from dataclasses import dataclass
from typing import Any, Final

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

# SAFETY: a 32-bit interpreter on a 64-bit kernel uses another table of numbers, in which these mean other
# calls; there, as on other systems, nothing here is available.
_MACHINE: Final = os.uname().machine if sys.platform == "linux" and sys.maxsize > 2**32 else ""
_KNOWN: Final = _MACHINE in _RENAMEAT2


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


@dataclass(frozen=True, slots=True)
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
