"""The command line: what a person types, and which exit code says how it went.

Never loads the protocol; `serve` does, when it is asked for.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    raise SystemExit("fsnotes: Windows is not supported; run it on Linux, or in a WSL distribution")

import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fsnotes.calls import local_principal
from fsnotes.cli.arguments import parser
from fsnotes.cli.console import Console, OutputFailed
from fsnotes.cli.wording import for_people
from fsnotes.errors import FsnotesError, NotAllowed
from fsnotes.failures import CRASH, describe

if TYPE_CHECKING:
    from fsnotes.server.http.child import Child

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None, *, child: Child | None = None) -> int:
    """Run one command and return its exit code. Results go to stdout, everything else to stderr.

    *child* is what one of several processes knows of its parent; nothing in *arguments* or the environment makes one.
    """
    _take_standard_numbers()
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        # Ignored by who starts us, it would take the exit status of every worker away.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        options = parser().parse_args(arguments)
    except SystemExit as ended:  # --help, --version, or words that are no command
        return ended.code if isinstance(ended.code, int) else 0
    options.words = tuple(sys.argv[1:] if arguments is None else arguments)
    options.child = child
    console = Console(log_format=options.log_format)
    try:
        code = int(options.run(options, console))
        console.flush()
    except FsnotesError as error:
        failure = describe(error)
        # Who is refused for want of a grant needs the name that a grant would have to name.
        you = f" (you are {local_principal().name})" if type(error) is NotAllowed else ""
        console.complain(for_people(failure.line) + you)
        return failure.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`| head`): it had enough, and what was asked for is done.
        _drop_output()
        return 0
    except OutputFailed as error:
        _drop_output()
        console.complain(f"standard output cannot be written: {error}; the command itself was carried out")
        return CRASH.exit_code
    except Exception:
        if options.log_level == "debug":
            raise
        console.complain(f"{CRASH.line} (--log-level debug shows where)")
        return CRASH.exit_code
    return code


def _take_standard_numbers() -> None:
    """Make sure that 0, 1 and 2 are open on something.

    Who starts us with one of them closed would have the next file that we open take its number: then a message
    for stderr ends in a ledger. What Python made of a closed one stays None, so it is still known to be closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            os.set_inheritable(number, True)  # noqa: FBT003 - the library's signature
    if sys.stderr is None:
        # `print(file=None)` would send complaints to stdout.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process


def _drop_output() -> None:
    """Let what is still buffered go nowhere: the interpreter would fail on it at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
