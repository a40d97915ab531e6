"""Decides how a process that has served ends: what was logged and traced is let out first, and nobody is waited for.

Whatever is still at work then is left behind by ending the process at once: every change survives that, as it survives
a kill. When the end has come is left to the transports.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from fsnotes.server.front import Front


def _nothing() -> bool:
    """Say that nothing else is at work."""
    return False


def run(front: Front, serving: Coroutine[Any, Any, int], *, is_working: Callable[[], bool] = _nothing) -> int:
    """Run *serving* to its end and close *front*; return the exit code, for the process to end with.

    Where something is at work, the process ends here; *is_working* says so of what *front* knows nothing of.
    """
    try:
        code = asyncio.run(serving)
    finally:
        front.close()
    if front.is_busy or is_working():
        _exit(code)
    return code


def end_at_once(front: Front, code: int) -> NoReturn:
    """End the process, whatever is under way. Takes as long as `Front.close`, half a second at most."""
    front.close()
    _exit(code)


def _exit(code: int) -> NoReturn:
    # The interpreter would wait for its threads.
    logging.shutdown()
    os._exit(code)
