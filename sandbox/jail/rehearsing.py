"""A question put to a child that ends at once: what would happen, without its happening to this process.

Only what the child says is an answer. One that was killed, by whomever, or that met a shortage of the moment, has
said nothing about the host: it is asked anew a few times, and then there is no answer, which must not be taken for
a no. What is asked, and what an answer means, is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, NoReturn

from sandbox.jail.report import reason

TRIES: Final = 3
"""How many children are asked before there is no answer."""

BROKEN: Final = 125
"""How a forked half ends that could not even do what it is there for."""

_SAID: Final = b"="
_UNSAID: Final = b"!"
_MAX_BYTES: Final = 1000


class NoAnswer(Exception):
    """Child after child ended without an answer; the text says how the last one did."""


def ask(act: Callable[[], str]) -> str:
    """Return what *act* returns in a child. Raises NoAnswer.

    What *act* raises is no answer either. The process must have one thread, and SIGCHLD must not be ignored.
    """
    why = ""
    for _ in range(TRIES):
        try:
            said = _ask_once(act)
        except OSError as error:  # no pipe, or no process, is left
            said = _UNSAID + reason(error).encode()
        text = said[1:].decode("utf-8", "replace")
        if said.startswith(_SAID):
            return text
        why = text
    raise NoAnswer(why)


def _ask_once(act: Callable[[], str]) -> bytes:
    told, tells = os.pipe()
    with os.fdopen(told, "rb") as pipe:
        try:
            child = os.fork()
            if child == 0:
                end_with(lambda: _tell(act, tells))
        finally:
            os.close(tells)
        said = pipe.read(_MAX_BYTES)
    _, status = os.waitpid(child, 0)
    return said or _UNSAID + _ending(os.waitstatus_to_exitcode(status)).encode()


def _ending(status: int) -> str:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"the attempt ended without an answer ({how})"


def _tell(act: Callable[[], str], tells: int) -> int:
    try:
        said = _SAID + act().encode("utf-8", "replace")
    except OSError as error:
        said = _UNSAID + reason(error).encode("utf-8", "replace")
    # SAFETY: shorter than what a pipe takes in one step, so it arrives whole or not at all.
    os.write(tells, said[:_MAX_BYTES])
    return 0


def end_with(act: Callable[[], int]) -> NoReturn:
    """End a forked half without running anything that the other half will run too."""
    status = BROKEN
    try:
        status = act()
    finally:
        os._exit(status)
