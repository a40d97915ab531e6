"""Decides when Ctrl-C may end a command: never between the two halves of a change."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Finish a change that has begun: it takes a moment, and then its outcome is known and said.

    A second Ctrl-C does not wait. It leaves what a kill leaves: all of the change or nothing of it.
    """
    asked = False

    def note(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
