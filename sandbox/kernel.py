"""What the kernel offers, asked without changing anything; for reports.

What a jail is worth here is not decided by this: a worker tries that (`jail/proving.py`).
"""

from __future__ import annotations

import os

from sandbox import _linux, mounts
from sandbox.records import record
from sandbox.releasing import release
from sandbox.resolve import LOOK_FOLDER, openat2_obstacle


@record
class Kernel:
    """The running kernel."""

    system: str
    release: str
    machine: str
    openat2: str | None
    """What stands in the way of openat2; None where it holds."""

    landlock: int | None
    """The version of Landlock; None where there is none."""

    mount_ids: bool
    """Whether mounts are known by number, so that a bind mount is told from a folder."""

    mount_table: str | None
    """Why it cannot be noticed that something is mounted or unmounted; None where it can."""


def look() -> Kernel:
    """Ask the kernel."""
    about = os.uname()
    top = os.open("/", LOOK_FOLDER | os.O_CLOEXEC)
    try:
        return Kernel(
            system=about.sysname,
            release=about.release,
            machine=about.machine,
            openat2=openat2_obstacle(top),
            landlock=_landlock(),
            mount_ids=not _linux.glance(top).by_device,
            mount_table=mounts.obstacle(),
        )
    finally:
        release(top)


def _landlock() -> int | None:
    try:
        return _linux.landlock_abi()
    except OSError:
        return None
