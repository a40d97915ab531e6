"""Runs a command under what a unit of systemd restricts a service to, as far as a process can do that to itself.

Arguments: a JSON object, and the command. `calls`: the numbers of the system calls that are allowed; `families`: of
sockets; `missing`: calls that are answered as if there were none; `execute`: false keeps memory from becoming
executable (PR_SET_MDWE).
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys

from tests.sandbox.jail.hosts import ALLOW, ERRNO, _install, _step

_SOCKET = {"x86_64": 41, "aarch64": 198}
_PR_SET_MDWE, _REFUSE_EXEC_GAIN = 65, 1
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06


def confine(*, calls: list[int], families: list[int], missing: list[int], execute: bool) -> None:
    """Restrict this process and all that it starts."""
    if not execute:
        ctypes.CDLL(None).prctl(_PR_SET_MDWE, _REFUSE_EXEC_GAIN, 0, 0, 0)
    steps = [_step(_LOAD, 0, 0, 16)]
    for family in families:
        steps += [_step(_EQUAL, 0, 1, family), _step(_RETURN, 0, 0, ALLOW)]
    steps.append(_step(_RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT))
    steps = [_step(_LOAD, 0, 0, 0), _step(_EQUAL, 0, len(steps), _SOCKET[os.uname().machine]), *steps]
    for number in missing:
        steps += [_step(_EQUAL, 0, 1, number), _step(_RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    for number in calls:
        steps += [_step(_EQUAL, 0, 1, number), _step(_RETURN, 0, 0, ALLOW)]
    _install([*steps, _step(_RETURN, 0, 0, ERRNO | errno.EPERM)], flags=0)


if __name__ == "__main__":
    confine(**json.loads(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - a list, and the test's own
