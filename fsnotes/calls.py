"""Who calls, under which request: what every operation of the service is told about its caller.

Leaves to others how the principal was established (the uid on stdio) and what it may do.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable

from fsnotes.access import Principal
from sandbox.records import record


def never() -> bool:
    """Say that the caller is still waiting."""
    return False


def unreported(progress: int, total: int, message: str) -> None:
    """Tell nobody how far the call is."""


@record
class Call:
    """One call of one principal. `abandoned()` turns true when the caller no longer waits.

    `report(progress, total, message)` tells a caller who asked how far what the call waits for is.
    """

    principal: Principal
    request_id: str | None = None
    trace_id: str | None = None
    abandoned: Callable[[], bool] = never
    report: Callable[[int, int, str], None] = unreported


def local_principal(uid: int | None = None) -> Principal:
    """Return `local:<login>` for *uid* (default: this process's), or `local:#<uid>` without a passwd entry.

    The environment is never asked: anybody can set USER.
    """
    number = os.getuid() if uid is None else uid
    try:
        return Principal(f"local:{pwd.getpwuid(number).pw_name}")
    except KeyError:
        return Principal(f"local:#{number}")
