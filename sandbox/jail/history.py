"""How long to wait after a failure before the next worker: longer and longer while they follow each other closely.

Whether there is a next one is decided in `conduct.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

PAUSES: Final = (0.1, 0.5, 2.0, 10.0)
"""Seconds before the next start after one failure, two in a row, and so on; the last one stays."""

SETTLED_SECONDS: Final = 60.0
"""A worker that lived this long has not failed in a row with the one before it."""


class History:
    """The failures of one jail. In memory only; for one thread at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._started = clock()

    def started(self) -> None:
        """Note that a worker starts."""
        self._started = self._clock()

    def failed(self) -> float:
        """Note that it failed; return how many seconds to wait before the next start."""
        now = self._clock()
        if now - self._started >= SETTLED_SECONDS:
            self._in_a_row = 0
        pause = PAUSES[min(self._in_a_row, len(PAUSES) - 1)]
        self._in_a_row += 1
        return pause

    def clear(self) -> None:
        """Forget everything."""
        self._in_a_row = 0
