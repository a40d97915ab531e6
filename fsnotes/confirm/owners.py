"""Decides whether the process that wrote a row of the ledger still lives.

A process is its id, the time it was started and the boot it runs in: an id alone is given again to others.
Answers "alive" where it cannot know, because that refuses a replay.
"""

from __future__ import annotations

import os
import re
from typing import Final

_UNKNOWN: Final = "?"
_OWNER: Final = re.compile(r"(\d{1,10}):(\d{1,20}|\?):([0-9a-f-]{1,64}|\?)")


def this_process() -> str:
    """Return the name of this process, as a row keeps it."""
    pid = os.getpid()
    return f"{pid}:{_started(pid) or _UNKNOWN}:{_boot()}"


def is_alive(owner: str) -> bool:
    """Say whether *owner*, a text of `this_process`, may still be running."""
    match = _OWNER.fullmatch(owner)
    if match is None:
        return True
    pid, started, boot = int(match[1]), match[2], match[3]
    if _UNKNOWN not in (boot, here := _boot()) and boot != here:
        return False
    found = _started(pid)
    if _UNKNOWN in (started, found):
        return _exists(pid)
    return found == started


def _started(pid: int) -> str | None:
    """Return when *pid* was started, in ticks since the boot; None when it has ended; "?" without /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The second field is the program's name, in parentheses, and may hold anything.
            fields = file.read().rpartition(b")")[2].split()
        state, started = fields[0], fields[19].decode("ascii")
    except (FileNotFoundError, ProcessLookupError):
        return None if os.path.exists("/proc/self/stat") else _UNKNOWN
    except (OSError, IndexError, ValueError):
        return _UNKNOWN
    # A zombie only waits for its parent to notice; a dead one (X) for nobody.
    return None if state in (b"Z", b"X", b"x") else started


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip() or _UNKNOWN
    except (OSError, ValueError):
        return _UNKNOWN


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
