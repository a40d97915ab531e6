"""Decide how much is under way at once, in all and for one principal, and how often one may call.

So one caller's flood is its own trouble. Counts only: nothing here waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fsnotes.access import Principal
from fsnotes.errors import LimitReached

MOST_TALLIES: Final = 4_096
"""How many principals are remembered before those are forgotten that have nothing under way and nothing spent."""


class Bucket:
    """Tokens that fill up at *rate* a second, to *burst* at most; each request takes one."""

    __slots__ = ("_at", "_burst", "_left", "_rate")

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """Take a token, if there is one."""
        self._fill(now)
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def seconds_until_next(self, now: float) -> int:
        """Return in how many whole seconds there is a token; 1 at least."""
        self._fill(now)
        return max(1, math.ceil((1 - self._left) / self._rate))

    def is_full(self, now: float) -> bool:
        """Say whether nothing is missing, so that another bucket is as good."""
        self._fill(now)
        return self._left >= self._burst

    def _fill(self, now: float) -> None:
        # A clock that goes back gives nothing, and gives nothing twice when it comes on again.
        self._left = min(self._burst, self._left + max(0.0, now - self._at) * self._rate)
        self._at = max(self._at, now)


@dataclass(slots=True)
class _Tally:
    """What one principal has under way."""

    bucket: Bucket | None
    requests: int = 0
    calls: int = 0


class Limits:
    """What is under way, by principal. For the event loop alone.

    *requests*: HTTP requests in all, of which one principal has no more than it leaves free. So whoever sends slowly
    leaves half of them to others, two such principals a quarter, and so on. *calls*: calls of tools of one principal.
    *rate*: requests per second of one principal, and *burst* of them at once; None for as many as come.
    """

    def __init__(
        self,
        *,
        requests: int,
        calls: int,
        rate: float | None,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = requests
        self._most_calls = calls
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tallies: dict[str, _Tally] = {}
        self.requests = 0

    def enter(self, principal: Principal) -> bool:
        """Count a request of *principal*; say no where there is no room, and `leave` is not due then."""
        tally = self._tallies.get(principal.name)
        if self._most - self.requests <= (0 if tally is None else tally.requests):
            return False
        if tally is None:
            tally = self._tallies[principal.name] = _Tally(self._bucket())
            self._forget()
        tally.requests += 1
        self.requests += 1
        return True

    def leave(self, principal: Principal) -> None:
        """Count a request of *principal* no longer."""
        self._tallies[principal.name].requests -= 1
        self.requests -= 1

    def spend(self, principal: Principal) -> int:
        """Count a request of *principal*, which has entered, against its rate.

        Return 0, or after how many seconds it may come where it is one too many.
        """
        bucket = self._tallies[principal.name].bucket
        now = self._clock()
        return 0 if bucket is None or bucket.take(now) else bucket.seconds_until_next(now)

    def begin(self, principal: Principal) -> LimitReached | None:
        """Count a call of a tool within a request; or return what refuses it, and `end` is not due then."""
        tally = self._tallies[principal.name]
        if tally.calls >= self._most_calls:
            return LimitReached("calls in flight")
        tally.calls += 1
        return None

    def end(self, principal: Principal) -> None:
        """Count a call of *principal* no longer."""
        self._tallies[principal.name].calls -= 1

    def _bucket(self) -> Bucket | None:
        return None if self._rate is None else Bucket(self._rate, self._burst, self._clock())

    def _forget(self) -> None:
        if len(self._tallies) <= MOST_TALLIES:
            return
        now = self._clock()
        idle = [
            name
            for name, tally in self._tallies.items()
            if not tally.requests and (tally.bucket is None or tally.bucket.is_full(now))
        ]
        for name in idle:
            # The one that has just come has nothing under way yet: it is the last, and stays.
            if len(self._tallies) > 1 and name != next(reversed(self._tallies)):
                del self._tallies[name]
