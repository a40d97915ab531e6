"""Decides how something that takes long to start is started once, in a thread of its own, for all who wait for it.

What cannot be started is not tried again for a while, and everybody is told why. What is started, and what becomes of
it, is decided by whoever has one of these.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from fsnotes.errors import Abandoned, NotItsTurn

T = TypeVar("T")

RETRY_SECONDS: Final = 2.0
"""How long what could not be started is not tried again."""

_STEP_SECONDS: Final = 0.05
"""How often somebody who waits is asked whether he still does."""


class Start(Generic[T]):
    """Starts something at `prepare`, or for the first who wants it. Thread-safe; close it.

    *begin* starts it; whatever it raises, *refused* says of it what those are told who wait. *unwanted* is given what
    there is at `close`, or what is started too late for it: None where nothing came of it.
    """

    def __init__(
        self,
        begin: Callable[[], T],
        *,
        refused: Callable[[BaseException], str],
        unwanted: Callable[[T | None], None],
    ) -> None:
        self._begin = begin
        self._refused = refused
        self._unwanted = unwanted
        self._mutex = threading.Lock()
        self._value: T | None = None
        self._starting: threading.Event | None = None
        self._refusal: tuple[str, float] | None = None
        self._closed = False

    @property
    def value(self) -> T | None:
        """What was started, None before; it stays after `close`."""
        return self._value

    @property
    def is_closed(self) -> bool:
        """Whether nothing is started any more."""
        return self._closed

    def prepare(self) -> threading.Event | None:
        """See to it that it is there soon, without waiting; return what says that it is, or cannot be."""
        with self._mutex:
            refused = self._standing_refusal() is not None
            if self._value is None and self._starting is None and not self._closed and not refused:
                self._starting = threading.Event()
                starter = threading.Thread(
                    target=self._start, args=(self._starting,), name="jail starter", daemon=True
                )
                try:
                    starter.start()
                except Exception as failure:  # noqa: BLE001 - the host has no thread left, or no memory for one
                    self._refuse(failure)
                    self._starting = None
            return self._starting

    def get(self, seconds: float, *, abandoned: Callable[[], bool]) -> tuple[T | None, str | None]:
        """Return it, started if need be; or None, with what is said of a failure.

        Nothing is said after `close`. Raises NotItsTurn when it takes longer than *seconds*, and Abandoned.
        """
        end = time.monotonic() + seconds
        while True:
            with self._mutex:
                if self._closed:
                    return None, None
                if self._value is not None:
                    return self._value, None
                starting, refusal = self._starting, self._standing_refusal()
            if starting is None and refusal is not None:
                return None, refusal
            if abandoned():
                raise Abandoned
            starting = starting or self.prepare()
            left = end - time.monotonic()
            if left <= 0:
                raise NotItsTurn
            if starting is not None:
                starting.wait(min(left, _STEP_SECONDS))

    def _standing_refusal(self) -> str | None:
        """Return what is said of a failure for as long as it is not tried again. For who holds the mutex."""
        if self._refusal is None or not time.monotonic() < self._refusal[1]:
            return None
        return self._refusal[0]

    def try_again(self) -> None:
        """Forget a failure: the next who wants it starts it."""
        with self._mutex:
            self._refusal = None

    def close(self) -> None:
        """Start nothing any more. A second time does nothing."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            value, is_starting = self._value, self._starting is not None
        if value is not None or not is_starting:
            self._unwanted(value)

    def _start(self, done: threading.Event) -> None:
        value: T | None = None
        failed: BaseException | None = None
        try:
            value = self._begin()
        except BaseException as failure:  # noqa: BLE001 - whatever it was, those who wait must be told
            failed = failure
        with self._mutex:
            is_late = self._closed
            if not is_late:
                self._value = value
            if failed is not None:
                self._refuse(failed)
            self._starting = None
        done.set()
        if is_late:
            self._unwanted(value)

    def _refuse(self, failure: BaseException) -> None:
        """Say for a while why there is none. For who holds the mutex."""
        self._refusal = self._refused(failure), time.monotonic() + RETRY_SECONDS
