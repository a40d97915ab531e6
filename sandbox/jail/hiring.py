"""Starting a worker: it is handed its order, proves its jail, and serves nothing if that is not what is required.

What the worker says of itself is compared with what the kernel says of it. What happens after a failure is the
supervisor's to decide.
"""

from __future__ import annotations

import time
from typing import Final

from sandbox.errors import (
    HandlerFailed,
    InvalidReport,
    LevelNotMet,
    LockdownFailed,
    WorkerBreach,
    WorkerCrashed,
    WorkerUnable,
)
from sandbox.jail import outside, watching
from sandbox.jail.channel import MAX_REQUEST, encode
from sandbox.jail.employed import Employed
from sandbox.jail.endings import Ended, Ending
from sandbox.jail.process import WorkerProcess
from sandbox.jail.report import LAYERS, LayerName, LayerState, Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.jail.worker import START, order
from sandbox.locking import never
from sandbox.names import display

ENTRY: Final = "sandbox.jail.entry"
"""The module in which a worker begins."""

START_SECONDS: Final = 20.0
"""How long a worker may take to prove its jail, on a machine that is busy with other things."""

UNSEEN: Final = Ended(Ending.CRASHED, "the worker was gone, or hidden, before its report could be checked")
WRONG_KIND: Final = Ended(Ending.BREACH, "the worker sent the report of another kind")

_MAX_REASON: Final = 200
_LOCKDOWN_FAILED: Final = f"{LockdownFailed.__module__}.{LockdownFailed.__qualname__}"

_NEEDED: Final[dict[Level, tuple[LayerName, ...]]] = {
    Level.NONE: (),
    Level.PARTIAL: ("landlock", "seccomp", "namespaces"),  # one of them
    Level.CONTAINED: tuple(name for name in LAYERS if name != "namespaces"),
    Level.FULL: LAYERS,
}


def order_frame(spec: JailSpec) -> bytes:
    """Return the first request to a worker. Raises TypeError or ValueError when the options are no JSON."""
    return encode({"id": 0, "op": START, "args": order(spec)}, most=MAX_REQUEST)


def employ(spec: JailSpec, *, entry: str) -> Employed:
    """Start a process for *spec*; the calling thread must live as long as it. Raises WorkerCrashed."""
    try:
        return Employed(WorkerProcess(entry=entry, import_paths=spec.import_paths))
    except OSError as error:
        why = f": {error.strerror}" if error.strerror else ""
        raise WorkerCrashed(f"the worker could not be started{why}") from error


def begin(worker: Employed, spec: JailSpec, *, require: Level) -> Report:
    """Let *worker* lock itself down by *spec*, and return its report when it may serve.

    Raises LevelNotMet, WorkerBreach when it is not what it says, or another WorkerFailed. The caller ends it then.
    """
    report = hear(worker, spec)
    if report.failed or report.level.rank < require.rank:
        raise LevelNotMet(
            required=require.value,
            reached=report.level.value,
            missing=missing(report, require),
            failed=report.failed,
        )
    return report


def hear(worker: Employed, spec: JailSpec) -> Report:
    """Let *worker* lock itself down by *spec*, and return its report as far as the kernel does not contradict it.

    For the thread that started it, whose filters it has inherited. A worker whose report has `failed` serves nothing.
    Raises WorkerFailed.
    """
    try:
        sent = worker.ask(
            order_frame(spec), number=0, until=time.monotonic() + START_SECONDS, abandoned=never
        )
        report = Report.from_json(sent)
    except HandlerFailed as error:
        # It has read no file of anybody yet, so this is still our own code that speaks.
        reason = error.fields.get("reason")
        shown = display((reason if isinstance(reason, str) else error.kind)[:_MAX_REASON])
        said = error.kind == _LOCKDOWN_FAILED and error.fields.get("passing") is False
        failure = WorkerUnable if said else WorkerCrashed
        raise failure(f"the worker could not begin: {shown}") from error
    except InvalidReport as error:
        raise WorkerBreach("the worker sent a report that is none") from error
    if report.failed:
        return report  # such a worker ends by itself, so there may be nobody to look at any more
    fault = watching.find_inner(worker.process, split=report.has("namespaces"))
    if fault is None and report.kind != spec.kind:
        fault = WRONG_KIND
    if fault is not None:
        raise fault.failure(sent=False)
    return _contradict(report, worker, spec)


def _contradict(report: Report, worker: Employed, spec: JailSpec) -> Report:
    """Return *report* with every layer failed that the kernel does not show on the process."""
    if not any(layer.state is LayerState.ENFORCED for layer in report.layers):
        return report
    seen = outside.look(worker.process.serving.pid)
    if seen is None:
        raise UNSEEN.failure(sent=False)
    return outside.confirm(report, seen, spec.limits, ours=outside.inherited())


def missing(report: Report, require: Level) -> tuple[tuple[str, str], ...]:
    """Name the layers that keep *report* from the level *require*, with the reasons; those that failed, if any did."""
    failed = tuple(layer for layer in report.layers if layer.state is LayerState.FAILED)
    short = tuple(report.layer(name) for name in _NEEDED[require] if not report.has(name))
    return tuple((layer.name, display(layer.why or layer.state.value)) for layer in failed or short)
