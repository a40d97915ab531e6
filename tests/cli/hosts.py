"""Commands on a host that lacks something, imitated by a filter in front of the whole process."""

from __future__ import annotations

from tests.cli.shell import PYTHON

_START = (
    "import sys; from tests.sandbox.jail.hosts import imitate; imitate(sys.argv.pop(1));"
    " from fsnotes.cli import main; sys.exit(main(sys.argv[1:]))"
)


_UNTOLD = (
    "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
    " os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


def fsnotes_untold() -> tuple[str, ...]:
    """Return how `fsnotes` is run by somebody who ignores SIGCHLD, which is inherited."""
    return (*PYTHON, "-c", _UNTOLD, *PYTHON[1:], "-m", "fsnotes")


def fsnotes_on(host: str) -> tuple[str, ...]:
    """Return how `fsnotes` is run on the host *host* of `tests.sandbox.jail.hosts`."""
    return (*PYTHON, "-c", _START, host)
