"""Decides when a workspace is begun to be served that was closed when the server started.

Nothing is started in a closed workspace: what its notes may do is not known. Once it is open again, whoever wants
something of it waits until its workers have proven their level, as a server waits when it starts. What keeps a
workspace closed is decided in `quarantine.py`, and what is started in `jailing.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from fsnotes.access import Grant
from fsnotes.errors import FsnotesError, NotItsTurn, Unavailable
from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.replies import IndexKept
from fsnotes.runners import Pending, Runner, never, not_served
from fsnotes.workers import RETRY_SECONDS, why

_log = logging.getLogger("fsnotes.deferred")


class DeferredRunner:
    """Runs the commands of one workspace once it has begun: at `prepare`, or at the first of them. Thread-safe.

    *begin* starts what runs them, in a thread of its own, and raises JailRequired or ConfigurationError; then it is
    tried again, RETRY_SECONDS later at the earliest. *let_go* gives back what it would have taken over, where it never
    began. *seconds* is how long a command waits for the beginning.
    """

    def __init__(self, begin: Callable[[], Runner], let_go: Callable[[], None], *, seconds: float) -> None:
        self._begin = begin
        self._let_go = let_go
        self._seconds = seconds
        self._pending = Pending()
        self._mutex = threading.Lock()
        self._runner: Runner | None = None
        self._starting: threading.Event | None = None
        self._refusal: tuple[str, float] | None = None
        self._closed = False

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command*. Raises Unavailable where the workspace cannot be begun, NotItsTurn where that takes long."""
        with self._pending.admitted(change=command.changes):
            runner = self._begun()
        return runner.run(grant, command, abandoned=abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep."""
        return self._begun().sweep(workspace, now=now)

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Keep the index."""
        return self._begun().keep(workspace, command)

    def jail(self, workspace: str) -> str:
        """Return what is enforced; `none` while nothing is there to enforce it around."""
        runner = self._runner
        return "none" if runner is None else runner.jail(workspace)

    def close(self) -> None:
        """Begin no more, and close what has begun."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            runner, is_starting = self._runner, self._starting is not None
        if runner is not None:
            runner.close()
        elif not is_starting:
            self._let_go()

    def prepare(self) -> threading.Event | None:
        """See to it that it begins soon, without waiting; return what says that it has, or cannot."""
        with self._mutex:
            refused = self._refusal is not None and time.monotonic() < self._refusal[1]
            if self._runner is None and self._starting is None and not self._closed and not refused:
                self._starting = threading.Event()
                starter = threading.Thread(
                    target=self._start, args=(self._starting,), name="jail starter", daemon=True
                )
                try:
                    starter.start()
                except Exception as failure:  # noqa: BLE001 - the host has no thread left, or no memory for one
                    self._refuse(failure)
                    self._starting = None
            return self._starting

    def _begun(self) -> Runner:
        if self._runner is None:
            starting = self.prepare()
            if starting is not None and not starting.wait(self._seconds):
                raise NotItsTurn
        with self._mutex:
            if self._closed:
                raise not_served()
            if self._runner is not None:
                return self._runner
            raise Unavailable(why(Exception()) if self._refusal is None else self._refusal[0])

    def _start(self, done: threading.Event) -> None:
        runner: Runner | None = None
        failed: Exception | None = None
        try:
            runner = self._begin()
        except Exception as failure:  # noqa: BLE001 - whatever it was, those who wait must be told
            failed = failure
        with self._mutex:
            self._runner = runner
            self._refusal = None
            if failed is not None:
                self._refuse(failed)
            self._starting = None
            is_late = self._closed
        done.set()
        if is_late and runner is not None:
            runner.close()
        elif is_late:
            self._let_go()

    def _refuse(self, failure: Exception) -> None:
        """Say for a while why nothing is run. For who holds the mutex."""
        if isinstance(failure, FsnotesError):
            _log.error("%s", failure)
        else:
            _log.error("a workspace could not be begun", exc_info=failure)
        said = failure.__cause__ if isinstance(failure.__cause__, Exception) else failure
        self._refusal = (why(said), time.monotonic() + RETRY_SECONDS)
