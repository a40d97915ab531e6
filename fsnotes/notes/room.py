"""Decides whether there is room for a change: within the workspace's quota, and above its disk's floor.

Nothing in the kernel holds an unprivileged process to a quota for one folder, so what a workspace holds is counted,
and only where its quota has a bound for it. The count goes on in short steps, one for each call, until it is
complete; from then on own changes are added to it, and it is made anew when it has become old.

Limits: it knows nothing of what others (another program, another process of ours) have added since the last count,
which is not older than COUNT_SECONDS when something is let through, and REFUSAL_SECONDS when something is refused.
What own changes free is seen by the next count, and what is changed during a count may be in it twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from fsnotes.errors import NoRoom, NotCounted
from sandbox.errors import StorageFailed
from sandbox.names import RelPath
from sandbox.policy import MOST_ENTRIES, Quota
from sandbox.records import record
from sandbox.root import Root, Tally

COUNT_SECONDS: Final = 60.0
"""How old a count may be for a change to be let through."""

REFUSAL_SECONDS: Final = 5.0
"""How old a count may be for a change to be refused: an owner who has just made room should not wait long."""

STEP_SECONDS: Final = 0.03
"""How long one call counts."""


@record
class Growth:
    """What a change adds to the workspace, and how many bytes it writes before it removes any (None: it moves)."""

    bytes: int = 0
    entries: int = 0
    written: int | None = None


class Room:
    """The room of one workspace. Thread-safe; close it."""

    def __init__(self, root: Root, quota: Quota, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._quota = quota
        self._clock = clock
        self._mutex = threading.Lock()
        self._tally: Tally | None = None
        self._counted_at: float | None = None
        self._bytes = 0
        self._entries = 0

    def close(self) -> None:
        """Let go of a count that goes on."""
        with self._mutex:
            self._drop_tally()

    def prepare(self) -> None:
        """Count on, if need be; to be called before the lock is taken for a change that grows.

        Raises NotCounted while the count is not complete: the same call goes on with it.
        """
        if not self._quota.counts:
            return
        with self._mutex:
            if self._tally is None and self._is_known(COUNT_SECONDS):
                return
            self._count_on()

    @contextmanager
    def taking(self, path: RelPath, growth: Growth) -> Iterator[None]:
        """Make sure that there is room at *path* for the change in the block, and note it when it is made.

        For who holds the workspace's lock. Raises NoRoom before the block begins, and NotCounted.
        """
        if growth.written is not None:
            self._check_disk(path, growth.written)
        if self._quota.counts and (growth.bytes > 0 or growth.entries > 0):
            self._check_quota(growth)
        yield
        self.note(growth)

    def note(self, growth: Growth) -> None:
        """Note a change that is made whether there is room or not."""
        if not self._quota.counts:
            return
        with self._mutex:
            self._bytes += max(0, growth.bytes)
            self._entries += max(0, growth.entries)

    def _check_disk(self, path: RelPath, written: int) -> None:
        asked = self._quota.min_free_bytes is not None
        try:
            space = self._root.space(path)
        except StorageFailed:
            if asked:
                raise
            return
        if not asked and space.free == 0:
            # Some file systems say so that do not know. One that is really full says it to whoever writes.
            return
        floor = self._quota.floor(space.total)
        if floor and not space.free - written >= floor:
            raise NoRoom("min_free_bytes", floor)

    def _check_quota(self, growth: Growth) -> None:
        with self._mutex:
            if self._tally is not None or self._counted_at is None:
                raise NotCounted
            over = self._over(growth)
            if over is None:
                return
            if not self._is_known(REFUSAL_SECONDS):
                self._count_on()
                over = self._over(growth)
        if over is not None:
            raise over

    def _over(self, growth: Growth) -> NoRoom | None:
        most_bytes, most_entries = self._quota.max_bytes, self._most_entries
        if most_bytes is not None and growth.bytes > 0 and not self._bytes + growth.bytes <= most_bytes:
            return NoRoom("max_bytes", most_bytes)
        if growth.entries > 0 and not self._entries + growth.entries <= most_entries:
            return NoRoom("max_entries", most_entries)
        return None

    @property
    def _most_entries(self) -> int:
        return MOST_ENTRIES if self._quota.max_entries is None else self._quota.max_entries

    def _is_known(self, seconds: float) -> bool:
        """Whether there is a count that is not older than *seconds*."""
        return self._counted_at is not None and 0 <= self._clock() - self._counted_at < seconds

    def _count_on(self) -> None:
        """Count for a short while, from the beginning if no count goes on. Raises NotCounted at its end.

        What is noted while it is counted is added to what was counted.
        """
        if self._tally is None:
            self._counted_at = None
            self._bytes = self._entries = 0
            self._tally = self._root.tally(clock=self._clock)
        try:
            complete = self._tally.step(STEP_SECONDS) or self._is_too_much(self._tally)
        except BaseException:
            # It cannot go on, and what it has is not all.
            self._drop_tally()
            raise
        if not complete:
            raise NotCounted
        self._bytes += self._tally.bytes
        self._entries += self._tally.entries
        self._counted_at = self._clock()
        self._drop_tally()

    def _is_too_much(self, tally: Tally) -> bool:
        """Whether the count need not go on, since what is there is more than there may be."""
        most = self._quota.max_bytes
        return tally.entries > self._most_entries or (most is not None and tally.bytes > most)

    def _drop_tally(self) -> None:
        tally, self._tally = self._tally, None
        if tally is not None:
            tally.close()
