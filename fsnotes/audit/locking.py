"""How one line at a time reaches a file that many processes write: `flock`, with a deadline, and whole writes."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Final

LOCK_SECONDS: Final = 2.0
"""How long a line waits for another process that is writing one."""

_STEP_SECONDS: Final = 0.002


def lock(descriptor: int, *, until: float) -> None:
    """Lock an opened file, at the latest at *until* on the monotonic clock. Raises BlockingIOError, OSError."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(_STEP_SECONDS)
        else:
            return


def write_all(descriptor: int, data: bytes, offset: int) -> None:
    """Write the whole of *data* at *offset*. Raises OSError, and then a part of it may have been written."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
