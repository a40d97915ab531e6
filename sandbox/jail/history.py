"""What failures of the past mean for the next worker: how long to wait, and when to stop trying.

A pause follows each failure, longer and longer while they follow each other closely. Breaches are counted in a
sliding window: too many of them and nothing is started until somebody has looked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

PAUSES: Final = (0.1, 0.5, 2.0, 10.0)
"""Seconds before the next start after one failure, two in a row, and so on; the last one stays."""

SETTLED_SECONDS: Final = 60.0
"""A worker that lived this long has not failed in a row with the one before it."""

MAX_BREACHES: Final = 3
BREACH_WINDOW_SECONDS: Final = 600.0


class History:
    """The failures of one jail. In memory only; for one thread at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._breaches: deque[float] = deque(maxlen=MAX_BREACHES)
        self._started = clock()

    def started(self) -> None:
        """Note that a worker starts."""
        self._started = self._clock()

    def failed(self, *, breach: bool) -> float:
        """Note that it failed; return how many seconds to wait before the next start."""
        now = self._clock()
        if now - self._started >= SETTLED_SECONDS:
            self._in_a_row = 0
        pause = PAUSES[min(self._in_a_row, len(PAUSES) - 1)]
        self._in_a_row += 1
        if breach:
            self._breaches.append(now)
        return pause

    @property
    def is_quarantined(self) -> bool:
        """Whether there were too many breaches in the window that ends with the latest of them."""
        return (
            len(self._breaches) == MAX_BREACHES
            and not self._breaches[-1] - self._breaches[0] > BREACH_WINDOW_SECONDS
        )

    def clear(self) -> None:
        """Forget everything."""
        self._in_a_row = 0
        self._breaches.clear()
