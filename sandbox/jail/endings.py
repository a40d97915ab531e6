"""How a worker ended, and which error the caller of an unanswered call gets for it.

Whoever kills a worker says why beforehand; the exit status speaks only for one that ended by itself. The texts
are fixed: nothing of what a worker wrote gets into them.
"""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import Final

from sandbox.errors import (
    JailStopped,
    Quarantined,
    WorkerBreach,
    WorkerCrashed,
    WorkerFailed,
    WorkerHung,
    WorkerLimit,
)
from sandbox.records import record

# The outer half of a worker with namespaces answers for the inner one as a shell does.
_MIRRORED: Final = 128


class Ending(StrEnum):
    """What kind of end it was."""

    BREACH = "breach"
    CRASHED = "crashed"
    HUNG = "hung"
    LIMIT = "limit"
    RECYCLED = "recycled"
    STOPPED = "stopped"
    QUARANTINED = "quarantined"

    @property
    def is_planned(self) -> bool:
        """Whether the supervisor wanted it, so that it was no failure of the worker."""
        return self in (Ending.RECYCLED, Ending.STOPPED, Ending.QUARANTINED)


_ERRORS: Final[dict[Ending, type[WorkerFailed]]] = {
    Ending.BREACH: WorkerBreach,
    Ending.CRASHED: WorkerCrashed,
    Ending.HUNG: WorkerHung,
    Ending.LIMIT: WorkerLimit,
    Ending.RECYCLED: WorkerCrashed,  # never under a call
    Ending.STOPPED: JailStopped,
    Ending.QUARANTINED: Quarantined,
}


@record
class Ended:
    """The end of one worker."""

    kind: Ending
    why: str

    def failure(self, *, sent: bool) -> WorkerFailed:
        """Return the error for a call that this end left unanswered."""
        return _ERRORS[self.kind](self.why, sent=sent)


LOST: Final = 1 << 16
"""Stands for the exit status of a worker that nobody knows: it is none that a process has."""

UNKNOWN_END: Final = Ended(
    Ending.BREACH,
    "how the worker ended is not known: SIGCHLD is ignored, or something else reaps our children",
)
FORBIDDEN_CALL: Final = Ended(Ending.BREACH, "the worker was killed at a forbidden system call")
CLOSED: Final = Ended(Ending.CRASHED, "the worker closed its channel")
HUNG: Final = Ended(Ending.HUNG, "the worker did not answer in time and was killed")
UNKILLABLE: Final = Ended(Ending.HUNG, "the worker did not answer in time and cannot be killed")
TIME_LIMIT: Final = Ended(Ending.LIMIT, "the worker used up its processor time")
MEMORY_LIMIT: Final = Ended(Ending.LIMIT, "the call needed more memory than a worker may have")
STOPPED: Final = Ended(Ending.STOPPED, "the jail was stopped")
QUARANTINED: Final = Ended(
    Ending.QUARANTINED,
    "workers broke their rules too often; nothing is served until an operator clears it",
)
INTERRUPTED: Final = Ended(Ending.RECYCLED, "its caller was interrupted")


def read_exit(status: int) -> Ended:
    """Return what the exit status of a worker says that nobody killed on purpose. Negative: a signal."""
    if status == LOST:
        return UNKNOWN_END  # it may have been killed at a forbidden call
    number = -status if status < 0 else status - _MIRRORED
    if number == signal.SIGSYS:
        return FORBIDDEN_CALL
    if number == signal.SIGXCPU:
        return TIME_LIMIT
    if number > 0:
        return Ended(Ending.CRASHED, f"the worker was ended by signal {number}")
    return Ended(Ending.CRASHED, f"the worker ended with status {status}")
