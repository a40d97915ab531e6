"""Who may talk to the worker next: one caller at a time, in the order they came, within a bound.

There is nothing to take while no worker is there (it is being restarted); callers wait for it as they wait
for each other, up to their deadlines. Taking and giving back without a queue costs two mutex operations.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from sandbox.errors import Abandoned, JailBusy, JailStopped, SandboxError, WorkerFailed

T = TypeVar("T")

MAX_WAITING: Final = 64
"""Callers that may wait for one worker."""

STEP_SECONDS: Final = 0.025
"""How often somebody who waits is asked whether they still do."""


class _Waiting(Generic[T]):
    """One caller in the queue; `signal` is released once, when it has got something or is refused."""

    __slots__ = ("got", "refusal", "signal")

    def __init__(self) -> None:
        self.got: T | None = None
        self.refusal: Callable[[], WorkerFailed] | None = None
        self.signal = threading.Lock()
        self.signal.acquire()


class Turns(Generic[T]):
    """Hands one thing of type *T*, the current one, to one caller at a time. Thread-safe.

    It begins refusing everybody, until `allow`.
    """

    def __init__(self, *, most: int = MAX_WAITING) -> None:
        self._mutex = threading.Lock()
        self._most = most
        self._queue: deque[_Waiting[T]] = deque()
        self._current: T | None = None
        self._is_free = False
        self._refusal: Callable[[], WorkerFailed] | None = lambda: JailStopped("the jail was not started")

    def take(self, *, until: float, abandoned: Callable[[], bool]) -> T:
        """Return the current thing when it is this caller's turn; `give_back` or `withdraw` it afterwards.

        Raises JailBusy when too many wait already or the time is up, Abandoned when the caller has gone, and
        whatever `refuse` was told. What it returns may have been withdrawn in this very moment.
        """
        with self._mutex:
            if self._refusal is not None:
                raise self._refusal()
            if self._is_free and self._current is not None and not self._queue:
                self._is_free = False
                return self._current
            if len(self._queue) >= self._most:
                raise JailBusy("too many callers wait for the worker")
            waiting = _Waiting[T]()
            self._queue.append(waiting)
        return self._wait(waiting, until, abandoned)

    def give_back(self, thing: T) -> None:
        """Let the next one have *thing*, which this caller took, unless it was withdrawn meanwhile."""
        with self._mutex:
            if self._current is thing:
                if self._queue:
                    self._pass_on(thing)
                else:
                    self._is_free = True

    def offer(self, thing: T) -> None:
        """Make *thing* the current one, free for whoever comes first."""
        with self._mutex:
            self._current = thing
            if self._refusal is None:
                self._pass_on(thing)

    def withdraw(self, thing: T) -> None:
        """Let nobody have *thing* any more. Whoever has it keeps it."""
        with self._mutex:
            if self._current is thing:
                self._current = None

    def withdraw_free(self, thing: T) -> bool:
        """Withdraw *thing* if nobody has it; return whether that was so."""
        with self._mutex:
            if self._current is not thing or not self._is_free:
                return False
            self._current = None
            return True

    def current(self) -> T | None:
        """Return the current thing, whoever has it."""
        with self._mutex:
            return self._current

    def is_free(self, thing: T) -> bool:
        """Whether *thing* is the current one and nobody has it."""
        with self._mutex:
            return self._current is thing and self._is_free

    def allow(self) -> None:
        """Let callers come, and wait, after `refuse`."""
        with self._mutex:
            self._refusal = None

    def refuse(self, refusal: Callable[[], WorkerFailed]) -> None:
        """Let everybody who waits or comes raise what *refusal* makes, until `allow`."""
        with self._mutex:
            self._refusal = refusal
            self._current = None
            while self._queue:
                waiting = self._queue.popleft()
                waiting.refusal = refusal
                waiting.signal.release()

    def _pass_on(self, thing: T) -> None:
        self._is_free = not self._queue
        if self._queue:
            waiting = self._queue.popleft()
            waiting.got = thing
            waiting.signal.release()

    def _wait(self, waiting: _Waiting[T], until: float, abandoned: Callable[[], bool]) -> T:
        try:
            while not waiting.signal.acquire(timeout=max(0.0, min(STEP_SECONDS, until - time.monotonic()))):
                if abandoned():
                    self._leave(waiting, Abandoned("the caller gave up"))
                elif not time.monotonic() < until:
                    self._leave(waiting, JailBusy("the worker was not free in time"))
        except BaseException:
            self._forget(waiting)
            raise
        if waiting.refusal is not None:
            raise waiting.refusal()
        if waiting.got is None:
            raise JailBusy("the worker was not free in time")
        return waiting.got

    def _forget(self, waiting: _Waiting[T]) -> None:
        """Let a caller go that was interrupted; what it was handed in this very moment goes to the next."""
        with self._mutex:
            if waiting in self._queue:
                self._queue.remove(waiting)
            elif waiting.got is not None and waiting.got is self._current:
                self._pass_on(waiting.got)

    def _leave(self, waiting: _Waiting[T], error: SandboxError) -> None:
        """Raise *error*, unless its turn has come in this very moment: then go on and take it."""
        with self._mutex:
            if waiting not in self._queue:
                return
            self._queue.remove(waiting)
        raise error
