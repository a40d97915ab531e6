"""The thread beside a jail's callers: it starts each worker, watches it to its end, and decides what follows.

It lives as long as its workers, since the kernel kills a worker when the thread that started it ends. It sees a
death while nobody asks, it looks at memory, processor time, threads and children from outside, and it logs what
the worker writes to stderr.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from sandbox.errors import (
    JailStopped,
    LevelNotMet,
    WorkerBreach,
    WorkerFailed,
)
from sandbox.jail.conduct import MAX_BREACHES, Conduct
from sandbox.jail.employed import Employed
from sandbox.jail.endings import QUARANTINED, STOPPED, Ended, Ending, read_exit
from sandbox.jail.errorlog import ErrorLog
from sandbox.jail.events import Event, Happening, Observer
from sandbox.jail.hiring import begin, employ
from sandbox.jail.history import PAUSES, History
from sandbox.jail.process import REAP_SECONDS
from sandbox.jail.report import Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.jail.surroundings import CHANGED_MEANWHILE, MOVED_ON, Surroundings
from sandbox.jail.turns import Turns
from sandbox.jail.watching import Glance, Sample, judge, look

WATCH_SECONDS: Final = 1.0
"""How often a worker is looked at from outside."""

LEVEL_SECONDS: Final = 10.0
"""How long after a level was lost it is tried again. Nothing is served meanwhile, so trying costs no safety."""

MAX_EVENTS: Final = 64

_BLIND_SECONDS: Final = 0.02  # where the kernel does not tell that a process is over
_SPIN_SECONDS: Final = 0.001

logger = logging.getLogger(__name__)


class Keeper:
    """Keeps one worker of *spec* in *turns*, one after another. All but `start` is for any thread.

    *report*, *sample* and *events* may be read at any time.
    """

    def __init__(
        self,
        spec: JailSpec,
        *,
        require: Level,
        entry: str,
        turns: Turns[Employed],
        memory_mark: int,
        conduct: Conduct,
        observe: Observer,
        clock: Callable[[], float],
        sleep: Callable[[threading.Event, float], object],
    ) -> None:
        self.report: Report | None = None
        self.sample: Sample | None = None
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._spec = spec
        self._require = require
        self._entry = entry
        self._turns = turns
        self._memory_mark = memory_mark
        self._observe = observe
        self._clock = clock
        self._sleep = sleep
        self._conduct = conduct
        self._history = History(clock)
        self._surroundings = Surroundings(spec)
        self._mutex = threading.Lock()
        self._worker: Employed | None = None
        self._failure: WorkerFailed | None = None
        self._owed: deque[Ended] = deque(maxlen=MAX_BREACHES)  # of more, none would count
        self._level_is_lost = False
        self._quarantine_is_told = False
        self._began = threading.Event()
        self._stopping = threading.Event()
        self._cleared = threading.Event()
        self._bell, self._hammer = socket.socketpair()
        self._bell.settimeout(0)
        self._hammer.settimeout(0)
        self._thread = threading.Thread(target=self._keep, name="jail keeper", daemon=True)

    def start(self) -> Report:
        """Start the thread and the first worker, and return its report; raise why there is none."""
        self._conduct.join(self._quarantine)
        self._thread.start()
        self._began.wait()
        if self._failure is not None or self.report is None:
            raise self._failure or _stopped()
        return self.report

    @property
    def events(self) -> tuple[Event, ...]:
        """The latest events, the oldest first."""
        with self._mutex:
            return tuple(self._events)

    def clear(self) -> None:
        """Forget the failures of the past, and start a worker if none was to be started."""
        self._owed.clear()
        self._conduct.clear()
        if self._began.is_set():
            # Who comes from now on waits for the worker, though the thread has not begun to start it.
            self._turns.allow()
            if self._stopping.is_set():
                self._turns.refuse(_stopped)
        self._cleared.set()

    def accuse(self, ended: Ended) -> None:
        """Have the worker end so, and if it is gone already, take it that one more ended so."""
        self._owed.append(ended)
        self.ring()

    def stop(self, seconds: float) -> None:
        """End the worker, refuse all callers, and wait so many seconds for the thread to end."""
        self._stopping.set()
        self._cleared.set()
        self._conduct.leave(self._quarantine)
        self._end(STOPPED)
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if not self._thread.is_alive():
            self._bell.close()
            self._hammer.close()

    def ring(self) -> None:
        """Make the thread look at the worker at once."""
        with contextlib.suppress(OSError):
            self._hammer.send(b"!")

    def _quarantine(self) -> None:
        self._end(QUARANTINED)
        if self._stopping.is_set():
            self._turns.refuse(_stopped)

    def _end(self, ended: Ended) -> None:
        """Refuse all callers and end the worker, which says why."""
        self._turns.refuse(_stopped if ended is STOPPED else _quarantined)
        with self._mutex:
            worker = self._worker
        if worker is not None:
            worker.end(ended)
        self.ring()

    # -- the thread ----------------------------------------------------------------------------

    def _keep(self) -> None:
        self._surroundings.open()
        try:
            while not self._stopping.is_set():
                # Once it was told, its end is told too, though it was lifted before this thread came here.
                if self._conduct.is_quarantined or self._quarantine_is_told:
                    self._wait_until_lifted()
                    continue
                pause = self._judge(self._take_owed() or self._serve())
                if pause and not self._stopping.is_set():
                    self._sleep(self._stopping, pause)
        except Exception:
            logger.exception("the supervision of a worker failed; its jail is stopped")
        finally:
            self._stopping.set()
            self._surroundings.close()
            self._conduct.leave(self._quarantine)
            self._turns.refuse(_stopped)
            if not self._began.is_set():
                self._failure = self._failure or _stopped()
                self._began.set()

    def _serve(self) -> Ended | WorkerFailed:
        """Start a worker and watch it to its end; return how it ended, or why it did not begin."""
        self._history.started()
        mounts = self._surroundings.look()
        try:
            worker = employ(self._spec, entry=self._entry)
        except WorkerFailed as failure:
            return failure
        process = worker.process
        errors = ErrorLog(process.errors, pid=process.pid)
        try:
            self._remember(worker)
            try:
                self.report = begin(worker, self._spec, require=self._require)
            except WorkerFailed as failure:
                return failure
            self._level_is_lost = False
            if not self._surroundings.enclose(worker, self.report, mounts):
                return worker.settle(CHANGED_MEANWHILE)
            self._note(Happening.STARTED, self.report.level.value, pid=process.pid)
            self._turns.allow()
            self._turns.offer(worker)
            self._began.set()
            return self._watch(worker, errors)
        finally:
            self._turns.withdraw(worker)
            worker.end(STOPPED)
            process.wait_until_gone(REAP_SECONDS)
            errors.close()
            worker.close()

    def _remember(self, worker: Employed) -> None:
        with self._mutex:
            self._worker = worker
        if self._stopping.is_set():
            worker.end(STOPPED)
        elif self._conduct.is_quarantined:
            worker.end(QUARANTINED)

    def _take_owed(self) -> Ended | None:
        return self._owed.popleft() if self._owed else None

    def _watch(self, worker: Employed, errors: ErrorLog) -> Ended:
        process = worker.process
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        poll.register(process.errors, select.POLLIN)
        if process.handle is not None:
            poll.register(process.handle, select.POLLIN)
        if worker.mounts is not None and self._surroundings.bell is not None:
            poll.register(self._surroundings.bell, select.POLLPRI)
        step = WATCH_SECONDS if process.handle is not None else _BLIND_SECONDS
        next_look = time.monotonic() + WATCH_SECONDS
        reads, seen = True, None
        while (status := process.reap()) is None:
            ready = {descriptor for descriptor, _ in poll.poll(step * 1_000)}
            if self._bell.fileno() in ready:
                self._silence()
                if self._owed and worker.settle(self._owed[0]) is self._owed[0]:
                    self._take_owed()
            if reads and process.errors.fileno() in ready:
                reads = self._read_errors(poll, process.errors.fileno(), errors)
            if worker.ended is not None:
                process.kill()
            if process.handle in ready:
                time.sleep(_SPIN_SECONDS)  # the outer half is over and the inner one not quite
            if self._surroundings.bell in ready:
                self.renews(worker)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + WATCH_SECONDS
                seen = self._look(worker, seen)
        return worker.settle(read_exit(status))

    def _silence(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._bell.recv(4_096):
                pass

    @staticmethod
    def _read_errors(poll: select.poll, number: int, errors: ErrorLog) -> bool:
        if errors.read():
            return True
        poll.unregister(number)
        return False

    def _look(self, worker: Employed, before: Glance | None) -> Glance | None:
        """Look at *worker* from outside, and end or retire it when that is due; return what was seen."""
        self.renews(worker)
        # In this order: a call that begins in between makes it busy, or another number of calls by the next look.
        calls = worker.calls
        idle = self._turns.is_free(worker)
        sample = look(worker.process)
        if isinstance(sample, Ended):
            worker.end(sample)
        if not isinstance(sample, Sample):
            return None
        self.sample = sample
        seen = Glance(sample, idle, calls)
        limit = self._spec.limits.cpu_seconds
        due = judge(seen, before, seconds=WATCH_SECONDS, cpu_limit=limit, memory_mark=self._memory_mark)
        if due is not None and due.kind.is_planned:
            self._retire(worker, due)
        elif due is not None:
            worker.end(due)
        return seen

    def renews(self, worker: Employed) -> bool:
        """Say whether *worker* sees other mounts than there are; then it is replaced, and nobody else talks to it."""
        if not self._surroundings.have_changed(worker):
            return False
        self._retire(worker, MOVED_ON)
        return True

    def _retire(self, worker: Employed, retirement: Ended) -> None:
        """Replace *worker* at once when it is idle, else when its caller is done."""
        worker.retirement = retirement
        if self._turns.withdraw_free(worker):
            worker.end(worker.retirement)

    def _judge(self, outcome: Ended | WorkerFailed) -> float:
        """Return how long to wait before the next worker; where its level was lost, that has been waited for."""
        if isinstance(outcome, Ended):
            self._note(Happening.ENDED, outcome.why, ending=outcome.kind)
            if outcome.kind.is_planned:
                return PAUSES[0] if outcome is CHANGED_MEANWHILE else 0
            breach = outcome.kind is Ending.BREACH
        else:
            self._note(Happening.NOT_STARTED, outcome.why)
            if not self._began.is_set():
                self._failure = outcome
                self._stopping.set()
                return 0
            breach = isinstance(outcome, WorkerBreach)
        pause = self._history.failed()
        if breach and self._conduct.breached():
            # Told by the one whose breach it was, and not by its fellows.
            self._quarantine_is_told = True
            self._note(Happening.QUARANTINED, QUARANTINED.why)
        if self._conduct.is_quarantined:
            return 0
        if isinstance(outcome, LevelNotMet):
            self._wait_for_level(outcome)
            return 0
        return pause

    def _wait_for_level(self, lost: LevelNotMet) -> None:
        """Refuse everything until it is cleared or tried again; say so the first time.

        A refusal that was not cleared stands until a worker serves again.
        """
        self._cleared.clear()
        if self._stopping.is_set():
            return
        self._turns.refuse(lost.again)
        if not self._level_is_lost:
            self._note(Happening.LEVEL_LOST, lost.why)
        self._level_is_lost = True
        if self._cleared.wait(LEVEL_SECONDS) and not self._stopping.is_set():
            self._begin_anew(lost.why)

    def _wait_until_lifted(self) -> None:
        """Refuse everything for as long as the quarantine stands."""
        if not self._began.is_set():
            self._failure = _quarantined()
            self._stopping.set()
            return
        while True:
            # In this order, so that neither a `clear` nor a `stop` is missed that comes in between, and a quarantine
            # that follows a `clear` at once is not left open by it.
            self._cleared.clear()
            if self._stopping.is_set():
                return
            if not self._conduct.is_quarantined:
                break
            self._turns.refuse(_quarantined)
            self._cleared.wait()
        self._begin_anew(QUARANTINED.why)

    def _begin_anew(self, why: str) -> None:
        self._history.clear()
        self._level_is_lost = False
        self._quarantine_is_told = False
        self._note(Happening.CLEARED, why)
        self._turns.allow()

    def _note(
        self, happening: Happening, why: str, *, ending: Ending | None = None, pid: int | None = None
    ) -> None:
        event = Event(self._clock(), happening, why, ending=ending, pid=pid)
        with self._mutex:
            self._events.append(event)
        # Of one that did not start the caller is told, who then says it better.
        quiet = event.is_expected or happening is Happening.NOT_STARTED
        logger.log(logging.INFO if quiet else logging.WARNING, "worker %s: %s", happening.value, why)
        self._observe(event)


def _stopped() -> WorkerFailed:
    return JailStopped("the jail was stopped")


def _quarantined() -> WorkerFailed:
    return QUARANTINED.failure(sent=False)
