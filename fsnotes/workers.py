"""Decides which workers a workspace has, and which jail each of them must have: what was reached once, from then on.

Every workspace has a worker that can only look; one that can also change is started for the first change, and one that
keeps the index when somebody wants it kept. How a worker is locked down, watched and replaced is `sandbox.jail`'s; what
is asked of it, `jailed.py`'s.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from fsnotes.errors import Unavailable
from fsnotes.notes.commands import Command
from fsnotes.notes.opening import INDEX_FOLDER, INDEXER, WRITER
from fsnotes.runners import CLOSED, Pending, never
from fsnotes.starting import Start
from sandbox.errors import (
    JailStopped,
    LevelNotMet,
    Quarantined,
    RootUnusable,
    WorkerBreach,
    WorkerCrashed,
    WorkerFailed,
    WorkerHung,
    WorkerLimit,
    WorkerUnable,
)
from sandbox.jail.events import Event
from sandbox.jail.report import Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.place import place_in
from sandbox.records import record, replace
from sandbox.root import Place

MAX_INDEX: Final = 4 << 30
"""Bytes of the file of an index: that of some six gigabytes of text."""

MAX_DEATHS: Final = 3
"""So many first workers may end without a word before there is none: a kill says nothing about the host."""

_WHY: Final[dict[type[WorkerFailed], str]] = {
    WorkerBreach: "the workspace's worker did what it must not and was ended",
    WorkerCrashed: "the workspace's worker ended",
    WorkerUnable: "the workspace's worker cannot begin",
    WorkerHung: "the workspace's worker did not answer in time and was ended",
    WorkerLimit: "the workspace's worker needed more memory or time than it may have",
    LevelNotMet: "the jail of this workspace is weaker than it has to be",
    Quarantined: CLOSED,
    JailStopped: "this workspace is not being served any more",
}


_FAILED: Final = "the workspace's worker failed"

_log = logging.getLogger("fsnotes.workers")


def why(failure: BaseException) -> str:
    """Return what is said of *failure*, to clients too: nothing that a worker wrote."""
    return _WHY.get(type(failure), _FAILED) if isinstance(failure, WorkerFailed) else _FAILED


class Worker(Protocol):
    """What is used of a `Jail`."""

    @property
    def report(self) -> Report | None:
        """What the latest process has proven."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened, the latest last."""

    @property
    def is_serving(self) -> bool:
        """Whether its process is there; not while it is being replaced."""

    def start(self) -> Report:
        """Start it, once. Raises WorkerFailed."""

    def call(
        self, op: str, args: dict[str, Any], *, deadline: float, write: bool, abandoned: Callable[[], bool]
    ) -> dict[str, Any]:
        """Let it answer. Raises WorkerFailed, HandlerFailed, Abandoned, ValueError."""

    def accuse(self, why: str) -> None:
        """End its process for a breach."""

    def clear(self) -> None:
        """Forget its breaches, and start it again if it was not to be started for them."""

    def quarantine(self) -> None:
        """End it and its fellows, and serve nothing until `clear`."""

    def stop(self) -> None:
        """End it for good."""


class WorkerMaker(Protocol):
    """Makes the worker of a spec, not started: `Jail`, or a test's own."""

    def __call__(self, spec: JailSpec, *, require: Level) -> Worker:
        """Return a worker that serves nothing below *require*."""


@record
class Begun:
    """A worker that looks, started, with the level that the workspace's workers must have from now on.

    *missing* names the layers that keep it from the level that was wanted, with the reason.
    """

    worker: Worker
    spec: JailSpec
    require: Level
    missing: tuple[tuple[str, str], ...] = ()


def begin(spec: JailSpec, *, require: Level, make: WorkerMaker) -> Begun:
    """Start a worker in the strongest jail there is. Raises WorkerFailed; LevelNotMet when it is below *require*.

    Where it says that the strongest one cannot be, and CONTAINED will do, the one without namespaces is tried.
    """
    try:
        return Begun(_started(spec, require, make), spec, require)
    except WorkerUnable:
        if require is not Level.CONTAINED:
            raise
    spec = replace(spec, want=Level.CONTAINED)
    return Begun(_started(spec, require, make), spec, require)


def begin_again(begun: Begun, spec: JailSpec, *, make: WorkerMaker) -> Begun:
    """Start a worker of *spec* that may take the place of *begun*, at no lower level. Raises WorkerFailed."""
    report = begun.worker.report
    reached = (
        begun.require if report is None else max(begun.require, report.level, key=lambda level: level.rank)
    )
    return replace(begun, worker=_started(spec, reached, make), spec=spec)


def begin_at_best(spec: JailSpec, *, make: WorkerMaker) -> Begun:
    """Start a worker, and require what it reaches from then on, even if that is nothing.

    Only what a worker says of its jail makes the level a lower one. One that ended without a word is tried again,
    and what was reached once is not given up. Raises WorkerFailed; LevelNotMet when a layer claims to be in force
    and is not.
    """
    require, reached = Level.FULL, Level.NONE
    missing: tuple[tuple[str, str], ...] = ()
    deaths = 0
    while True:
        try:
            begun = begin(spec, require=require, make=make)
        except LevelNotMet as weaker:
            lower = Level(weaker.reached)
            if weaker.failed or not reached.rank <= lower.rank < require.rank:
                raise
            require, missing = lower, weaker.missing
        except WorkerUnable as unable:
            if require is not Level.FULL or reached is Level.FULL:
                raise
            require, missing = Level.CONTAINED, (("namespaces", unable.why),)
        except WorkerCrashed:
            deaths += 1
            if deaths == MAX_DEATHS:
                raise
        else:
            level = begun.worker.report.level if begun.worker.report is not None else Level.NONE
            if level.rank <= require.rank:
                return replace(begun, missing=missing)
            begun.worker.stop()
            require, reached, missing = level, level, ()


def _started(spec: JailSpec, require: Level, make: WorkerMaker) -> Worker:
    worker = make(spec, require=require)
    worker.start()
    return worker


class JailedWorkspace:
    """A workspace behind its workers, the first of which is *begun*. Thread-safe.

    *place* is where its folder was when it was begun; *max_note_bytes* is its policy's; *ignore* are its
    patterns; *make* makes the worker that can change.
    """

    def __init__(
        self,
        begun: Begun,
        make: WorkerMaker,
        *,
        place: Place,
        ignore: tuple[str, ...],
        max_note_bytes: int,
    ) -> None:
        self.place: Final = place
        self.ignore: Final = ignore
        self.max_note_bytes: Final = max_note_bytes
        self.pending: Final = Pending()
        self._begun = begun
        self._make = make
        self._mutex = threading.Lock()
        self._writing = Start(self._begin_writing, refused=_refused, unwanted=_ended)
        self._indexer: Worker | None = None
        self._closed = False

    def worker(
        self, command: Command[Any], *, seconds: float, abandoned: Callable[[], bool] = never
    ) -> Worker:
        """Return the worker for *command*: one that can change only for a change.

        It is started if need be. Raises Unavailable when it cannot be, or after `close`; NotItsTurn when that takes
        longer than *seconds*, and Abandoned.
        """
        if self._closed:
            raise Unavailable(_WHY[JailStopped])
        if not command.changes:
            return self._begun.worker
        writer, refusal = self._writing.get(seconds, abandoned=abandoned)
        if writer is not None:
            return writer
        raise Unavailable(_WHY[JailStopped] if refusal is None else refusal)

    def prepare(self) -> threading.Event | None:
        """See to it that a worker for changes is there soon, without waiting; return what says that it is or not."""
        return self._writing.prepare()

    def indexer(self) -> Worker:
        """Return the worker that keeps the index, started if need be. Raises Unavailable. For one thread at a time."""
        known = self._indexer
        if known is None:
            spec = indexing(self._begun.spec)
            try:
                known = _started(spec, self._begun.require, self._make)
            except WorkerFailed as failure:
                raise Unavailable(why(failure)) from failure
            with self._mutex:
                late = self._closed
                if not late:
                    self._indexer = known
            if late:
                known.stop()
                raise Unavailable(_WHY[JailStopped])
        return known

    @property
    def level(self) -> Level:
        """The level that each of the workers has."""
        reports = [worker.report for worker in self._workers()]
        levels = [report.level for report in reports if report is not None]
        return min(levels, key=lambda level: level.rank, default=Level.NONE)

    def clear(self) -> None:
        """Let the workers begin anew that were not started any more."""
        self._writing.try_again()
        for worker in self._workers():
            worker.clear()

    def quarantine(self) -> None:
        """End the workers, with what they are doing, until `clear`."""
        for worker in self._workers():
            worker.quarantine()

    def close(self) -> None:
        """End the workers."""
        with self._mutex:
            self._closed = True
            indexer, self._indexer = self._indexer, None
        self._begun.worker.stop()
        self._writing.close()
        _ended(indexer)

    @property
    def _writer(self) -> Worker | None:
        return None if self._closed else self._writing.value

    def _workers(self) -> tuple[Worker, ...]:
        return tuple(
            worker for worker in (self._begun.worker, self._writer, self._indexer) if worker is not None
        )

    def _begin_writing(self) -> Worker:
        spec = replace(self._begun.spec, kind="rw", handler=WRITER)
        return _started(spec, self._begun.require, self._make)


def _refused(failure: BaseException) -> str:
    """Return why there is no worker for changes, and log what is no failure of a worker."""
    if not isinstance(failure, WorkerFailed):
        _log.error("a worker could not be started", exc_info=failure)
    return why(failure)


def indexing(spec: JailSpec) -> JailSpec:
    """Return what a worker that keeps the index is started with: of the workspace's part it gets that folder alone."""
    if spec.index is None:
        raise Unavailable("there is no search index")
    try:
        folder = place_in(spec.index, INDEX_FOLDER, identity=spec.index_identity)
    except RootUnusable as error:
        raise Unavailable("its part of the state has no folder for the search index") from error
    return replace(
        spec,
        kind="index",
        handler=INDEXER,
        index=folder.path,
        index_identity=folder.identity,
        limits=replace(spec.limits, file_size=MAX_INDEX),
    )


def _ended(worker: Worker | None) -> None:
    if worker is not None:
        worker.stop()
