"""Decides when a workspace is begun to be served that was closed when the server started.

Nothing is started in a closed workspace: what its notes may do is not known. Once it is open again, whoever wants
something of it waits until its workers have proven their level, as a server waits when it starts. What keeps a
workspace closed is decided in `quarantine.py`, and what is started in `jailing.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from fsnotes.access import Grant
from fsnotes.errors import FsnotesError, Unavailable
from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.replies import IndexKept
from fsnotes.runners import Pending, Runner, never, not_served, time_for
from fsnotes.starting import Start
from fsnotes.workers import why

_log = logging.getLogger("fsnotes.deferred")


class DeferredRunner:
    """Runs the commands of one workspace once it has begun: at `prepare`, or at the first of them. Thread-safe.

    *begin* starts what runs them, in a thread of its own, and raises JailRequired or ConfigurationError; then it is
    tried again later, see `starting.py`. *let_go* gives back what it would have taken over, where it never
    began. *seconds* is how long a command waits for the beginning.
    """

    def __init__(self, begin: Callable[[], Runner], let_go: Callable[[], None], *, seconds: float) -> None:
        self._let_go = let_go
        self._seconds = seconds
        self._pending = Pending()
        self._start = Start(begin, refused=_refused, unwanted=self._end)

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command*. Raises Unavailable where the workspace cannot be begun, NotItsTurn where that takes long.

        And Abandoned.
        """
        with self._pending.admitted(change=command.changes):
            # A quarter more: who holds the ledger has all of that time for the command itself.
            seconds = min(self._seconds, time_for(command, 4 * self._seconds) / 4)
            runner = self._begun(seconds, abandoned)
        return runner.run(grant, command, abandoned=abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep."""
        return self._begun(self._seconds).sweep(workspace, now=now)

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Keep the index."""
        return self._begun(self._seconds).keep(workspace, command)

    def jail(self, workspace: str) -> str:
        """Return what is enforced; `none` while nothing is there to enforce it around."""
        runner = self._start.value
        return "none" if runner is None else runner.jail(workspace)

    def close(self) -> None:
        """Begin no more, and close what has begun."""
        self._start.close()

    def prepare(self) -> threading.Event | None:
        """See to it that it begins soon, without waiting; return what says that it has, or cannot."""
        return self._start.prepare()

    def _begun(self, seconds: float, abandoned: Callable[[], bool] = never) -> Runner:
        runner, refusal = self._start.get(seconds, abandoned=abandoned)
        if runner is not None:
            return runner
        if self._start.is_closed:
            raise not_served()
        raise Unavailable(why(Exception()) if refusal is None else refusal)

    def _end(self, runner: Runner | None) -> None:
        if runner is not None:
            runner.close()
        else:
            self._let_go()


def _refused(failure: BaseException) -> str:
    """Return why nothing is run, and log it."""
    if isinstance(failure, FsnotesError):
        _log.error("%s", failure)
    else:
        _log.error("a workspace could not be begun", exc_info=failure)
    return why(failure.__cause__ if isinstance(failure.__cause__, Exception) else failure)
