"""What the parent sees of a worker by itself, to contradict a report that claims more.

From /proc, which needs no right to the process: the seccomp mode, no_new_privs, the capability sets, the
accounts, the threads, the process number in the innermost namespace, and the limits. Landlock, the mounts and the
other namespaces cannot be seen of a process that hides its memory, unless by root.

A worker that was taken over before the look cannot change these back: all of them only ever grow stricter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.jail.report import Layer, LayerName, LayerState, Report
from sandbox.jail.spec import Limits
from sandbox.records import replace

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


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker as the kernel describes it to others."""

    seccomp: int
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


def confirm(report: Report, seen: Seen, limits: Limits) -> Report:
    """Return *report* with every layer failed that claims to be enforced and is seen not to be."""
    lies = _contradicted(seen, limits)
    return replace(report, layers=tuple(_judge(layer, lies) for layer in report.layers))


def _judge(layer: Layer, lies: Mapping[LayerName, str]) -> Layer:
    if layer.state is not LayerState.ENFORCED or layer.name not in lies:
        return layer
    return replace(layer, state=LayerState.FAILED, why=f"seen from outside: {lies[layer.name]}")


def _contradicted(seen: Seen, limits: Limits) -> dict[LayerName, str]:
    found: dict[LayerName, str] = {}
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
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
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
        no_new_privs=int(fields["NoNewPrivs"]) == 1,
        capabilities=capabilities,
        one_account=len(set(fields["Uid"].split())) == 1 and len(set(fields["Gid"].split())) == 1,
        threads=int(fields["Threads"]),
        numbers=tuple(int(number) for number in fields["NSpid"].split()),
        limits=hard,
    )


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES).decode("ascii", "replace")
    except OSError:
        return None
