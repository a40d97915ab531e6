"""With what each call can fail, by its man page; and EIO for all. One that nobody has thought of fails with all."""

from __future__ import annotations

from errno import EDQUOT, EINTR, EIO, EMFILE, ENOSPC, EROFS
from typing import Final

from tests.service.faults.seam import Fault, Made

_FULL: Final = (ENOSPC, EDQUOT)
_NAMES: Final = (*_FULL, EROFS)

_BY_MAN_PAGE: Final[dict[str, tuple[int, ...]]] = {
    "open": (EMFILE, EINTR),
    "openat2(2)": (EMFILE, EINTR),
    "renameat2(2)": _NAMES,
    "statx(2)": (),
    "long_call(2)": (EMFILE,),
    "add_watch(2)": (ENOSPC,),
    "os.open": (EMFILE, EINTR),
    "os.open O_CREAT": (EMFILE, EINTR, *_NAMES),
    "os.close": (EINTR, *_FULL),
    "os.dup": (EMFILE,),
    "os.scandir": (EMFILE,),
    "scandir.next": (),
    "DirEntry.stat": (),
    "os.listdir": (EMFILE,),
    "os.stat": (),
    "os.lstat": (),
    "os.fstat": (),
    "os.fstatvfs": (EINTR,),
    "os.lseek": (),
    "os.read": (EINTR,),
    "os.pread": (EINTR,),
    "os.write": (EINTR, *_FULL),
    "os.pwrite": (EINTR, *_FULL),
    "os.ftruncate": (EINTR, EROFS),
    "os.fsync": (EINTR, EROFS, *_FULL),
    "os.mkdir": _NAMES,
    "os.makedirs": _NAMES,
    "os.rmdir": (EROFS,),
    "os.unlink": (EROFS,),
    "os.rename": _NAMES,
    "os.link": _NAMES,
    "os.fchmod": (EROFS,),
    "os.fchown": (EROFS, EDQUOT),
    "os.listxattr": (),
    "os.getxattr": (),
    "os.setxattr": _FULL,
    "os.removexattr": (EROFS,),
    "fcntl.flock": (EINTR,),
    "fcntl.flock LOCK_UN": (EINTR,),
    "fcntl.fcntl": (EINTR,),
    "sqlite3.connect": (EMFILE,),
    "sqlite3.execute": (ENOSPC, EROFS),
    "sqlite3.executemany": (ENOSPC, EROFS),
}

_SHORT: Final = frozenset({"os.read", "os.pread", "os.write", "os.pwrite"})

_LATE: Final = frozenset(
    {
        "os.fsync",
        "renameat2(2)",
        "os.rename",
        "os.mkdir",
        "os.unlink",
        "os.rmdir",
        "os.link",
        "sqlite3.execute",
    }
)
"""Calls that a file system over a network may have made although it says that they failed."""


def faults_of(made: Made) -> list[Fault]:
    """Return all that can happen to a call."""
    numbers = _BY_MAN_PAGE.get(made.call, (EMFILE, EINTR, *_NAMES))
    found = [Fault("fails", number) for number in (EIO, *numbers)]
    if made.call in _SHORT:
        found.append(Fault("short"))
    if made.call in _LATE:
        found.append(Fault("late", EIO))
    return found
