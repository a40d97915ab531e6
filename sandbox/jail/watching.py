"""What a supervisor sees of a worker from outside, and what it makes of it.

Only what the kernel tells about another process is used: memory, processor time, threads, children. Which
process it is was fixed when it started, by number and time of creation, so that a number used again is nobody.
Open files and connections of a jailed worker cannot be seen without more rights, and are not asked for.
"""

from __future__ import annotations

from typing import Final

from sandbox.jail.endings import Ended, Ending
from sandbox.jail.process import WorkerProcess
from sandbox.records import record

NO_INNER_HALF: Final = Ended(Ending.BREACH, "the worker does not have the process that its report speaks of")
HIDDEN: Final = Ended(
    Ending.CRASHED, "the worker cannot be seen: /proc is mounted with hidepid, which hides what others run"
)
GONE: Final = Ended(Ending.CRASHED, "the worker was gone before it could be looked at")
EXTRA_CHILD: Final = Ended(Ending.BREACH, "the worker has a process that it must not have")
EXTRA_THREAD: Final = Ended(Ending.BREACH, "the worker has a thread that it must not have")
BUSY_WHILE_IDLE: Final = Ended(Ending.BREACH, "the worker works while nobody asks it to")
MUCH_MEMORY: Final = Ended(Ending.RECYCLED, "it holds much memory")
MUCH_TIME: Final = Ended(Ending.RECYCLED, "it has used much of its processor time")

_CPU_SHARE: Final = 0.5  # of the limit of its life, after which a worker is replaced
_IDLE_SHARE: Final = 0.3  # of a processor, which nobody uses who waits for a request


@record
class Sample:
    """The serving half of a worker at one moment: resident bytes, processor seconds of its life, threads."""

    memory: int
    cpu_seconds: float
    threads: int


@record
class Glance:
    """What was seen of a worker, and whether a call was in it."""

    sample: Sample
    idle: bool
    calls: int


def judge(
    seen: Glance, before: Glance | None, *, seconds: float, cpu_limit: int | None, memory_mark: int
) -> Ended | None:
    """Return the end that is due after what was *seen*, and *before* it at least so many *seconds* ago."""
    used = 0.0
    if seen.idle and before is not None and before.idle and before.calls == seen.calls:
        used = seen.sample.cpu_seconds - before.sample.cpu_seconds
    if used > seconds * _IDLE_SHARE:
        return BUSY_WHILE_IDLE
    if seen.sample.memory > memory_mark:
        return MUCH_MEMORY
    if cpu_limit is not None and seen.sample.cpu_seconds > cpu_limit * _CPU_SHARE:
        return MUCH_TIME
    return None


def children(pid: int) -> list[int]:
    """Return the children of a process of one thread; none when it is gone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as listing:
            return [int(number) for number in listing.read(4_096).split()]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        import psutil

        # Kernels may lack the list; then every process of the host must be looked at (a millisecond for 30).
        try:
            return [child.pid for child in psutil.Process(pid).children()]
        except psutil.Error:
            return []


def find_inner(process: WorkerProcess, *, split: bool) -> Ended | None:
    """Find the half of *process* that serves; return what is wrong when there is no such, or one too many."""
    found = children(process.pid)
    if not split:
        return EXTRA_CHILD if found else None
    if not found and process.reap() is not None:
        return GONE
    if not found and _hides_processes():
        return HIDDEN
    if len(found) != 1:
        return NO_INNER_HALF
    import psutil  # a worker is there, so it has been loaded

    try:
        process.attend(psutil.Process(found[0]))
    except psutil.Error:
        return GONE if process.reap() is not None else NO_INNER_HALF
    return None


def _hides_processes() -> bool:
    """Say whether /proc shows nothing of others' processes: process 1 is always there, and hardly ever our own."""
    try:
        with open("/proc/1/stat", "rb"):
            return False
    except OSError:
        return True


def look(process: WorkerProcess) -> Sample | Ended | None:
    """Return what *process* uses, or why it must end; None when it is gone."""
    import psutil

    serving = process.serving
    expected = [] if serving.pid == process.pid else [serving.pid]
    try:
        with serving.oneshot():
            sample = Sample(
                memory=serving.memory_info().rss,
                cpu_seconds=sum(serving.cpu_times()[:2]),
                threads=serving.num_threads(),
            )
        if not serving.is_running():
            return None
    except psutil.Error:
        return None
    if sample.threads > 1:
        return EXTRA_THREAD
    if children(process.pid) not in (expected, []) or (expected and children(serving.pid)):
        return EXTRA_CHILD
    return sample
