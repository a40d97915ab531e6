"""`Jail`: the one worker of a `JailSpec`, called in turn by everybody, and trusted with nothing.

Callers use the channel themselves, in their own threads, one at a time; a thread beside them (`keeper.py`) starts
the workers, watches them and decides when the next one comes. What a failure means for a call is decided here.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from sandbox.errors import Abandoned, JailBusy, WorkerBreach, WorkerCrashed, WorkerLimit
from sandbox.jail.channel import MAX_REQUEST, carry, encode
from sandbox.jail.conduct import Conduct
from sandbox.jail.employed import Employed
from sandbox.jail.endings import Ended, Ending
from sandbox.jail.events import Event, Observer, ignore
from sandbox.jail.hiring import ENTRY, order_frame
from sandbox.jail.keeper import Keeper
from sandbox.jail.report import Level, Report
from sandbox.jail.spec import MIB, JailSpec
from sandbox.jail.turns import Turns
from sandbox.jail.watching import Sample
from sandbox.jail.worker import RESERVED
from sandbox.locking import never
from sandbox.records import record

LEAST_SECONDS: Final = 0.01
"""A call that has less than this left when its turn comes is not sent: it would only kill a healthy worker."""

ENOUGH_CALLS: Final = Ended(Ending.RECYCLED, "it has answered enough calls")

STOP_SECONDS: Final = 1.0
"""How long `stop` waits for a worker that has been killed."""


@record
class Recycling:
    """When a healthy worker is replaced: after so many calls, or above so many resident bytes."""

    calls: int = 50_000
    memory: int = 256 * MIB


class _OutdatedError(Exception):
    """The worker sees other mounts than there are; nothing was sent."""


class Jail:
    """One worker for one `JailSpec`. Synchronous and thread-safe; started once, stopped once.

    *require* is the level below which nothing is served. *clock* and *sleep* (an event that cuts it short, and
    seconds) are for pauses and the quarantine; deadlines are instants of `time.monotonic`. *observe* is called
    with each event, in a thread of the jail. *entry* is the module that the worker runs: another one has another
    lock-down, or none, and its report says so.

    A worker that ended by fault is followed by another after a pause of 0.1, 0.5, 2, then 10 seconds. After three
    breaches in ten minutes nothing is served until `clear`; jails that share a *conduct* are counted together, and
    end together. When the jail has become weaker than required, nothing is served until it is no longer, which is
    tried every ten seconds. All of that is in memory only.
    """

    def __init__(
        self,
        spec: JailSpec,
        *,
        require: Level,
        recycling: Recycling | None = None,
        conduct: Conduct | None = None,
        observe: Observer = ignore,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[threading.Event, float], object] = threading.Event.wait,
        entry: str = ENTRY,
    ) -> None:
        if not RESERVED.isdisjoint(spec.options):
            raise ValueError("these options are the worker's own to add")
        order_frame(spec)  # so that a mistake in it is its maker's to see
        self.spec = spec
        self.require = require
        self._recycling = Recycling() if recycling is None else recycling
        self._conduct = Conduct(clock) if conduct is None else conduct
        self._numbers = itertools.count(1)
        self._turns = Turns[Employed]()
        self._keeper = Keeper(
            spec,
            require=require,
            entry=entry,
            turns=self._turns,
            memory_mark=self._recycling.memory,
            conduct=self._conduct,
            observe=observe,
            clock=clock,
            sleep=sleep,
        )

    @property
    def report(self) -> Report | None:
        """What the latest worker has proven; None before the first."""
        return self._keeper.report

    @property
    def sample(self) -> Sample | None:
        """What the worker used when it was last looked at; None before that."""
        return self._keeper.sample

    @property
    def events(self) -> tuple[Event, ...]:
        """The latest events, the oldest first."""
        return self._keeper.events

    @property
    def is_serving(self) -> bool:
        """Whether a worker is there, whoever talks to it; not while one is being started."""
        return self._turns.current() is not None

    def start(self) -> Report:
        """Start the first worker and return its report.

        Raises LevelNotMet, or another WorkerFailed when no worker could begin; then the jail is stopped.
        """
        try:
            return self._keeper.start()
        except BaseException:
            self.stop()
            raise

    def clear(self) -> None:
        """Lift a quarantine, or try again whether the required level is met."""
        self._keeper.clear()

    def quarantine(self) -> None:
        """End the worker, and those that share its conduct, and serve nothing until `clear`."""
        self._conduct.quarantine()

    def stop(self) -> None:
        """End the worker and all that waits for it, within a second."""
        self._keeper.stop(STOP_SECONDS)

    def call(
        self,
        op: str,
        args: dict[str, Any],
        *,
        deadline: float,
        write: bool,
        abandoned: Callable[[], bool] = never,
    ) -> dict[str, Any]:
        """Let the worker run *op* and return the result; at most one call is in the worker at any time.

        Waits in line, for a worker that is being restarted too, until *deadline*. A read whose worker crashed is
        tried once more on a fresh worker. A change is not, nor is what made a worker break its rules. A request
        that could not be sent, since the worker had died, was not seen by anybody and goes to the next one.

        Raises HandlerFailed when the handler raised; JailBusy, Abandoned, JailStopped, Quarantined or LevelNotMet
        when nothing was sent; WorkerBreach, WorkerCrashed, WorkerHung, WorkerLimit, Quarantined or JailStopped when
        the worker did not answer: it is gone then, and of a change the outcome is unknown. ValueError and TypeError
        are for arguments that are no JSON or too long. When *abandoned* turns true while the call waits, nothing
        is sent; when it turns true later the handler is told, and the call ends as the handler decides.
        """
        number = next(self._numbers)
        frame = encode(carry({"id": number, "op": op}, "args", args), most=MAX_REQUEST)
        first: WorkerCrashed | None = None
        while True:
            try:
                return self._ask(frame, number, deadline, abandoned)
            except (WorkerBreach, WorkerCrashed, WorkerLimit) as failure:
                if failure.sent:
                    if write or first is not None or not isinstance(failure, WorkerCrashed):
                        raise
                    first = failure
            except JailBusy as busy:
                if first is not None:
                    raise first from busy
                raise
            except _OutdatedError:
                pass  # the next one sees what there is

    def accuse(self, why: str) -> None:
        """End the worker for a breach that only its caller could see, such as a reply beyond what was granted."""
        ended = Ended(Ending.BREACH, why)
        worker = self._turns.current()
        if worker is None:
            self._keeper.accuse(ended)
        else:
            self._turns.withdraw(worker)
            worker.end(ended)

    def _ask(
        self, frame: bytes, number: int, deadline: float, abandoned: Callable[[], bool]
    ) -> dict[str, Any]:
        worker = self._turns.take(until=deadline, abandoned=abandoned)
        try:
            if abandoned():
                raise Abandoned("the caller gave up")
            if not time.monotonic() < deadline - LEAST_SECONDS:
                raise JailBusy("the worker was not free in time")
            if self._keeper.renews(worker):
                raise _OutdatedError
            worker.calls += 1
            return worker.ask(frame, number=number, until=deadline, abandoned=abandoned)
        finally:
            self._leave(worker)

    def _leave(self, worker: Employed) -> None:
        if worker.ended is None and worker.retirement is None and worker.calls < self._recycling.calls:
            self._turns.give_back(worker)
            return
        worker.settle(worker.retirement or ENOUGH_CALLS)
        self._turns.withdraw(worker)
        self._keeper.ring()
