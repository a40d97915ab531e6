"""What has been changed beneath a root, by whomever, told as soon as the kernel tells it.

One thread owns the watches and reads their events at once, so that few wait in the kernel; all that it does with one is
to mark a path. What a changed path means, and when to look at it, is decided by whoever asks. A look of one's own from
time to time stays necessary: `watches.py` says what the kernel does not tell.
"""

from __future__ import annotations

import os
import select
import threading
from types import TracebackType
from typing import Final, Self

from sandbox.beneath import Beneath
from sandbox.errors import WatchUnavailable
from sandbox.marks import Dirty, Marks, Reason, Unwatched
from sandbox.names import ROOT, RelPath
from sandbox.records import record
from sandbox.releasing import release
from sandbox.watches import Wanted, Watches

__all__ = ["Dirty", "Reason", "Unwatched", "Watcher", "WatcherStatus"]

READS: Final = 64
"""How often events are read before folders that wait get their turn."""

VISITS: Final = 16
"""How many folders are visited before events are read again."""

STOP_SECONDS: Final = 1.0
"""How long `close` waits for the thread, which a file system that does not answer can hold."""


@record
class WatcherStatus:
    """How well a root is watched, for reports: how many folders are, which are not, how often events were lost."""

    folders: int
    unwatched: tuple[Unwatched, ...]
    overflows: int


class Watcher:
    """Watches one root in a thread of its own, from now on; close it. Safe to use from several threads.

    At first everything is dirty: what differs from what was known before is for the caller to find. `look` and `clear`
    are for callers who answer while they are still dealing with what is dirty, `take` for others. *folders* and *files*
    say which paths matter, each by its path; they are called by the thread and must be quick. Raises WatchUnavailable:
    then look from time to time.
    """

    def __init__(self, tree: Beneath, *, folders: Wanted, files: Wanted) -> None:
        self._marks = Marks()
        self._changed = threading.Condition()
        self._asked = 0
        self._answered = 0
        self._stopping = False
        self._retrying = False
        self._ended = False
        self._told = 0
        self._watches = Watches(tree, self._marks, folders=folders, files=files)
        try:
            self._ear, self._bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self._watches.close()
            raise WatchUnavailable("the limit of open files is reached") from error
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the thread and all watches; from then on the root counts as unwatched. A second time does nothing."""
        with self._changed:
            self._stopping = True
            self._ring()
        self._thread.join(STOP_SECONDS)

    # -- asking --------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """A number that grows whenever something is marked; while it stays, `look` returns the same."""
        return self._marks.generation

    @property
    def has_ended(self) -> bool:
        """Whether it tells of nothing any more."""
        return self._ended

    def look(self) -> Dirty:
        """Return what is dirty; it stays so until it is cleared."""
        return self._marks.look()

    def clear(self, dirty: Dirty, *, only: frozenset[RelPath] | None = None) -> None:
        """Forget what a look returned, or *only* these paths of it: all of it has been looked at on the disk since.

        What was marked after that look stays, the same paths too; so does what is not watched.
        """
        self._marks.clear(through=dirty.generation, only=only)

    def take(self) -> Dirty:
        """Return what is dirty and forget it: the caller looks at all of it now."""
        return self._marks.take()

    def mark(self, path: RelPath) -> None:
        """Mark a path at once: for own writes, whose events may still be on their way."""
        self._marks.file(path)
        self._tell()

    def mark_folder(self, path: RelPath) -> None:
        """Mark a folder with all beneath it at once."""
        self._marks.folder(path)
        self._tell()

    def wait(self, generation: int, timeout: float) -> bool:
        """Wait until something is marked after *generation*; return False if nothing is within *timeout* s.

        Also once the watcher has ended.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._marks.generation > generation or self._ended, timeout)

    def settle(self, timeout: float) -> bool:
        """Wait until all that was done before this call is marked; return False if that takes more than *timeout* s.

        It takes as long as the thread needs to wake, and to go through what has come up by then.
        """
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._ring()
            self._changed.wait_for(lambda: self._answered >= mine or self._ended, timeout)
            return self._answered >= mine

    def retry(self) -> None:
        """Try again soon what could not be watched: a limit may have been raised."""
        with self._changed:
            self._retrying = True
            self._ring()

    def status(self) -> WatcherStatus:
        """Say how well the root is watched."""
        return WatcherStatus(self._watches.count, self._marks.unwatched, self._watches.overflows)

    def _ring(self) -> None:
        if self._ended:
            return  # the number may be another's descriptor by now
        try:
            os.write(self._bell, b"!")
        except BlockingIOError:
            pass  # it rings already

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        reason = Reason.STOPPED
        try:
            self._work()
        except Exception:  # noqa: BLE001 - whatever it is, those who ask must not believe that nothing changes
            reason = Reason.FAILED
        finally:
            self._marks.stand([Unwatched(ROOT, reason)], [])
            self._end()

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._watches.close()
            release(self._ear)
            release(self._bell)
            self._changed.notify_all()

    def _work(self) -> None:
        poll = select.poll()
        poll.register(self._watches.fileno(), select.POLLIN)
        poll.register(self._ear, select.POLLIN)
        backlog = False
        while True:
            poll.poll(0 if backlog or self._watches.busy else None)
            asked, retrying = self._hear()
            if self._stopping:
                return
            if retrying:
                self._watches.retry()
            # Once there is nothing more to read, all that had been done when *asked* was heard is marked.
            backlog = all(not self._stopping and self._watches.read() for _ in range(READS))
            self._watches.visit(VISITS)
            self._tell()
            if not backlog and not self._watches.busy:
                self._watches.check_root()
                self._answer(asked)

    def _hear(self) -> tuple[int, bool]:
        try:
            os.read(self._ear, 1 << 12)
        except BlockingIOError:
            pass
        with self._changed:
            retrying, self._retrying = self._retrying, False
            return self._asked, retrying

    def _tell(self) -> None:
        """Wake who waits for a mark, if there is one."""
        if self._marks.generation > self._told:
            with self._changed:
                self._told = self._marks.generation
                self._changed.notify_all()

    def _answer(self, asked: int) -> None:
        if asked > self._answered:
            with self._changed:
                self._answered = asked
                self._changed.notify_all()
