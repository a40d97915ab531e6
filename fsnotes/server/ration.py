"""Decides how many lines of the audit log the refusals of a flood may take.

Which refusals have a line at all, and what stands in it, is left to `calling`.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from fsnotes.access import Principal

LINE_SECONDS: Final = 1.0
"""The least time between two lines of one principal about one tool."""

MOST_REMEMBERED: Final = 4_096
"""Most lines in LINE_SECONDS, of all principals: so many have to be remembered."""


class Ration:
    """A line for each principal and tool in LINE_SECONDS. For the event loop alone."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taken: OrderedDict[tuple[str, str], float] = OrderedDict()

    def take(self, principal: Principal, tool: str) -> bool:
        """Take the line that *principal* has for *tool*; say no where there is none left."""
        now = self._clock()
        # They stand in the order in which they were taken, so the first one that is recent is followed by such alone.
        while self._taken and now - next(iter(self._taken.values())) >= LINE_SECONDS:
            self._taken.popitem(last=False)
        key = (principal.name, tool)
        if key in self._taken or len(self._taken) >= MOST_REMEMBERED:
            return False
        self._taken[key] = now
        return True
