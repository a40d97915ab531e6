"""Files of our own beside the roots, in folders of our own: opened only if both are this account's.

A root is somebody's folder of whatever there is, and its rules are in `resolve.py`. Nobody else has any business in
these folders. So what is a link, no plain file or another account's is refused: it is not ours, whoever put it there.
Which folder it is, and who may have it, is decided elsewhere.

Limits: who has the same account, or is root, can put anything in their place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from typing import Final

from sandbox.errors import RootUnusable
from sandbox.place import Place
from sandbox.releasing import release

HOLD_SECONDS: Final = 1.0
"""How long root waits for a folder that another process of root's is about to give away: it takes a moment."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MODE: Final = 0o600
_STEP_SECONDS: Final = 0.005


def open_own_folder(folder: str | Place) -> int:
    """Return a descriptor of a folder of this account's. Raises RootUnusable for anything else.

    A `Place` must be the very folder that it was. Root holds that one, shared, for as long as the descriptor is open:
    root alone gives folders to other accounts, and takes them for itself (`flock`) to do so.
    """
    path = folder if isinstance(folder, str) else folder.path
    try:
        descriptor = os.open(path, _FOLDER)
    except (OSError, ValueError) as error:
        raise RootUnusable("the folder of our own files cannot be opened") from error
    try:
        _check_folder(descriptor, folder)
        if isinstance(folder, Place) and os.geteuid() == 0:
            _hold(descriptor)
            _check_folder(descriptor, folder)  # it may have been given away until now
    except BaseException:
        release(descriptor)
        raise
    return descriptor


def open_own_file(name: str, flags: int, *, folder: int) -> int:
    """Return a descriptor of the file *name* in an opened *folder*; one that *flags* make is for this account alone.

    Raises OSError, and RootUnusable for what is no plain file or another account's: it was opened, without waiting,
    and nothing else was done with it.
    """
    descriptor = os.open(name, flags | _FILE, _MODE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise RootUnusable("one of our own files is no plain file of ours")
    except BaseException:
        release(descriptor)
        raise
    return descriptor


def _check_folder(descriptor: int, folder: str | Place) -> None:
    try:
        status = os.fstat(descriptor)
    except OSError as error:
        raise RootUnusable("the folder of our own files cannot be looked at") from error
    if isinstance(folder, Place) and (status.st_dev, status.st_ino) != folder.identity:
        raise RootUnusable("the folder of our own files was moved or replaced")
    if status.st_uid != os.geteuid():
        raise RootUnusable("the folder of our own files belongs to another account")


def _hold(descriptor: int) -> None:
    end = time.monotonic() + HOLD_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                return  # folders cannot be locked here, so nobody gives one away either
            if not time.monotonic() < end:
                raise RootUnusable("the folder of our own files is being given away") from error
            time.sleep(_STEP_SECONDS)
        else:
            return
