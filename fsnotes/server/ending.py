"""Decides how a process that has served ends: what was logged and traced is let out first, and nobody is waited for.

Whatever is still at work then is left behind by ending the process at once: every change survives that, as it survives
a kill. When the end has come is left to the transports.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from fsnotes.server.front import Front


def end(front: Front, code: int, *, is_working: bool = False) -> int:
    """Close *front* and return *code*, for the process to end with; where something is at work, end it here.

    *is_working* says so of what *front* knows nothing of.
    """
    front.close()
    if front.is_busy or is_working:
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
