"""Whether work takes time in proportion to how much there is of it: measured, since no count of steps sees all."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest


def best(call: Callable[[], object], tries: int) -> float:
    """Return the least processor time that *call* takes, in seconds."""
    found = []
    for _ in range(tries):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def hold_to_proportion(
    case: Callable[[int], Callable[[], object]], size: int, *, patience: tuple[int, ...]
) -> None:
    """Fail unless four times the *size* takes about four times the time; a square would be sixteen times.

    What takes next to no time is not told apart from the clock's steps. It is tried as often as *patience* says.
    """
    gc.disable()
    try:
        for tries in patience:
            small = best(case(size), tries)
            large = best(case(4 * size), tries)
            if large < 9 * small or large < 0.005:
                return
    finally:
        gc.enable()
    pytest.fail(f"{small:.4f} s, and {large:.4f} s for four times as much")
