"""Decides what it means when a descriptor cannot be closed, or a lock let go of: nothing.

Both have happened whatever the system answers, and nobody could do anything about the answer. What was written is
synced before its descriptor is closed, and it is the sync that says whether that went well.
"""

from __future__ import annotations

import errno
import fcntl
import os


def release(descriptor: int) -> None:
    """Close a descriptor. Raises OSError for one that is not open, which is a mistake of ours, and for nothing else."""
    try:
        os.close(descriptor)
    except OSError as error:
        # SAFETY: close(2) on Linux frees the descriptor before anything that can fail, EINTR included; another try
        # would close what somebody else has opened meanwhile.
        if error.errno == errno.EBADF:
            raise


def unlock(descriptor: int) -> None:
    """Let go of the `flock` of a descriptor that is about to be closed, which would leave it with a forked child."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        pass  # closing lets go of it as well
