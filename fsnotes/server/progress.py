"""Tells a client that asked how far its call is: more each time, and not too often.

Source: the specification's page on progress. The token is the client's own, and is repeated as it came.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

LEAST_SECONDS: Final = 0.1
"""How long nothing is told after something was."""

Notify = Callable[[dict[str, Any]], None]
"""Sends a notification for as long as its request has not been answered; for any thread."""


class ProgressReport:
    """What one call reports. For the thread that does its work."""

    def __init__(
        self, token: str | int, notify: Notify, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._token = token
        self._notify = notify
        self._clock = clock
        self._told = -1
        self._next = clock()

    def __call__(self, progress: int, total: int, message: str) -> None:
        """Tell that so much is done of so much, unless no more is than was told before."""
        if progress <= self._told or self._clock() < self._next:
            return
        self._told = progress
        self._next = self._clock() + LEAST_SECONDS
        params = {"progressToken": self._token, "progress": progress, "total": total, "message": message}
        self._notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
