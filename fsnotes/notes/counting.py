"""How often a command is tried that first has to count what is there: a short while each time, until it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from fsnotes.errors import Abandoned, NotCounted
from sandbox.locking import never

T = TypeVar("T")

MAX_COUNTING: Final = 5_000
"""Calls in which a command may do what has to be done first; the next one goes on with it."""


def until_counted(
    work: Callable[[], T], *, abandoned: Callable[[], bool] = never, is_late: Callable[[], bool] = never
) -> T:
    """Do *work*, again and again while it only does what has to be done first, a short while each time.

    Raises NotCounted once *is_late*: what has been done by then is not lost to the next call.
    """
    for _ in range(MAX_COUNTING):
        try:
            return work()
        except NotCounted:
            if abandoned():
                raise Abandoned from None
            if is_late():
                raise
    raise NotCounted
