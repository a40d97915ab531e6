"""What the parent sees of a worker by itself, to contradict a report that claims more.

From /proc, which needs no right to the process: the seccomp mode, no_new_privs, the capability sets, the
accounts, the threads, the process number in the innermost namespace, and the limits. Landlock, the mounts and the
other namespaces cannot be seen of a process that hides its memory, unless by root.

A worker that was taken over before the look cannot change these back: all of them only ever grow stricter.

What holds for a worker may come from elsewhere, and holds all the same, with one exception: a filter that this process
has itself, as in a container, says nothing about what a worker added. So the filters are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox.jail.report import Layer, LayerName, LayerState, Report
from sandbox.jail.spec import Limits
from sandbox.records import record, replace

SECCOMP_FILTER: Final = 2
_MAX_BYTES: Final = 1 << 16
_SETS: Final = ("CapInh", "CapPrm", "CapEff", "CapAmb")
_LIMITS: Final = {
    "Max address space": "memory",
    "Max open files": "open_files",
    "Max file size": "file_size",
    "Max core file size": "core",
}

UNSEEN: Final[tuple[LayerName, ...]] = ("landlock",)
"""Layers about which only the worker's own proof can be had."""


@record
class Seen:
    """A worker as the kernel describes it to others."""

    seccomp: int
    filters: int | None
    """How many seccomp filters it is behind; None where the kernel does not say (before 5.9)."""
    no_new_privs: bool
    capabilities: int
    """All sets together, the bounding set aside."""
    one_account: bool
    threads: int
    numbers: tuple[int, ...]
    """The process in each namespace, from ours to its own."""
    limits: Mapping[str, int]
    """Hard limits by the names of `Limits`, and `core`; one that is missing is unlimited."""


def look(pid: int) -> Seen | None:
    """Return what /proc says about the process *pid*, or None when it cannot be read or is gone."""
    status, limits = _read(f"/proc/{pid}/status"), _read(f"/proc/{pid}/limits")
    if status is None or limits is None:
        return None
    try:
        return _parse(status, limits)
    except (KeyError, ValueError, IndexError):
        return None


def inherited() -> int | None:
    """Return how many filters a worker has from the calling thread, which started it; None where nobody can say."""
    status = _read("/proc/thread-self/status")
    try:
        fields = _fields(status or "")
        return _filters(fields) if int(fields["Seccomp"]) else 0
    except (KeyError, ValueError):
        return None


def confirm(report: Report, seen: Seen, limits: Limits, *, ours: int | None) -> Report:
    """Return *report* with every layer failed that claims to be enforced and is seen not to be.

    *ours* are the filters that the worker has inherited. Where their number is not known, filters are there or not,
    and whose they are is left to the worker's own proof.
    """
    lies = _contradicted(seen, limits, ours)
    return replace(report, layers=tuple(_judge(layer, lies) for layer in report.layers))


def _judge(layer: Layer, lies: Mapping[LayerName, str]) -> Layer:
    if layer.state is not LayerState.ENFORCED or layer.name not in lies:
        return layer
    return replace(layer, state=LayerState.FAILED, why=f"seen from outside: {lies[layer.name]}")


def _contradicted(seen: Seen, limits: Limits, ours: int | None) -> dict[LayerName, str]:
    found: dict[LayerName, str] = {}
    if ours is not None and seen.filters is not None and seen.filters <= ours:
        found["seccomp"] = "no filter but those that it was started with"
    if seen.seccomp != SECCOMP_FILTER or not seen.no_new_privs or seen.threads != 1:
        found["seccomp"] = "no filter, or more than one thread"
    if seen.capabilities or not seen.no_new_privs or not seen.one_account:
        found["capabilities"] = "rights are left"
    if len(seen.numbers) < 2 or seen.numbers[-1] != 1:
        found["namespaces"] = "not process 1 of a namespace"
    wanted = {
        "memory": limits.memory,
        "open_files": limits.open_files,
        "file_size": limits.file_size,
        "core": 0,
    }
    if not all(name in seen.limits and seen.limits[name] <= most for name, most in wanted.items()):
        found["limits"] = "limits are missing or too high"
    return found


def _parse(status: str, limits: str) -> Seen:
    fields = _fields(status)
    capabilities = 0
    for name in _SETS:
        capabilities |= int(fields[name], 16)
    hard: dict[str, int] = {}
    for line in limits.splitlines():
        for title, name in _LIMITS.items():
            if line.startswith(title):
                value = line[len(title) :].split()[1]
                if value != "unlimited":
                    hard[name] = int(value)
    return Seen(
        seccomp=int(fields["Seccomp"]),
        filters=_filters(fields),
        no_new_privs=int(fields["NoNewPrivs"]) == 1,
        capabilities=capabilities,
        one_account=len(set(fields["Uid"].split())) == 1 and len(set(fields["Gid"].split())) == 1,
        threads=int(fields["Threads"]),
        numbers=tuple(int(number) for number in fields["NSpid"].split()),
        limits=hard,
    )


def _fields(status: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in status.splitlines() if ":" in line)


def _filters(fields: Mapping[str, str]) -> int | None:
    return int(fields["Seccomp_filters"]) if "Seccomp_filters" in fields else None


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES).decode("ascii", "replace")
    except OSError:
        return None
