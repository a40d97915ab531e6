"""When the workers of one workspace have broken their rules too often, and that all of them end then.

Breaches are counted in a sliding window, whichever worker committed them: whoever has taken one over tries the next.
Too many, and nothing is started for the workspace until somebody has looked. What a breach is, others decide.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

MAX_BREACHES: Final = 3
BREACH_WINDOW_SECONDS: Final = 600.0


class Conduct:
    """The breaches of all workers of one workspace, and whether they are in quarantine. In memory only; thread-safe."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._mutex = threading.Lock()
        self._breaches: deque[float] = deque(maxlen=MAX_BREACHES)
        self._members: list[Callable[[], None]] = []
        self._quarantined = False

    @property
    def is_quarantined(self) -> bool:
        """Whether nothing may be started. Asked before each start, and again once it can be ended."""
        return self._quarantined

    def join(self, end: Callable[[], None]) -> None:
        """Have *end* called, in any thread, at each quarantine from now on. It must not raise."""
        with self._mutex:
            self._members.append(end)

    def leave(self, end: Callable[[], None]) -> None:
        """Undo `join`, if it was done."""
        with self._mutex:
            if end in self._members:
                self._members.remove(end)

    def breached(self) -> bool:
        """Note a breach; return whether it was the one too many, after which all workers have been ended.

        In a quarantine there is none: what ends then was begun before it.
        """
        with self._mutex:
            if self._quarantined:
                return False
            self._breaches.append(self._clock())
            span = self._breaches[-1] - self._breaches[0]
            full = len(self._breaches) == MAX_BREACHES and not span > BREACH_WINDOW_SECONDS  # nor a NaN
        return full and self.quarantine()

    def quarantine(self) -> bool:
        """End all workers, and let none begin until `clear`; return whether that was not so already."""
        with self._mutex:
            if self._quarantined:
                return False
            # SAFETY: before anybody is ended, so that who begins in this moment sees it or is ended.
            self._quarantined = True
            members = tuple(self._members)
        for end in members:
            end()
        return True

    def clear(self) -> None:
        """Forget everything."""
        with self._mutex:
            self._breaches.clear()
            self._quarantined = False
