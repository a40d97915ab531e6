"""What happens to the worker of a jail, for a log, for `doctor` and for people who ask why a call failed."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from sandbox.jail.endings import Ending
from sandbox.records import record


class Happening(StrEnum):
    """Something that has happened."""

    STARTED = "started"
    NOT_STARTED = "not started"
    ENDED = "ended"
    QUARANTINED = "quarantined"
    LEVEL_LOST = "level lost"
    CLEARED = "cleared"


@record
class Event:
    """One happening, by the jail's clock. *why* is a fixed text or a level; *ending* says of which kind an end is."""

    at: float
    happening: Happening
    why: str
    ending: Ending | None = None
    pid: int | None = None

    @property
    def is_expected(self) -> bool:
        """Whether it belongs to the life of a healthy worker."""
        if self.happening is Happening.ENDED:
            return self.ending is not None and self.ending.is_planned
        return self.happening in (Happening.STARTED, Happening.CLEARED)


Observer = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Observe nothing: the default."""
