"""What is found out about a host and its workspaces, and what of it is a fault or a weakness.

A fault is something that was asked for and is not in force, or that the jail's level forbids and is possible all the
same. How it is found out is `diagnosis.py`'s; how it is shown, the command line's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fsnotes.config import WorkspaceSettings
from fsnotes.custody import NO_PART
from fsnotes.policies import policies
from fsnotes.quarantine import Mark
from sandbox.features import Features
from sandbox.filesystem import FileSystem
from sandbox.jail.hiring import missing
from sandbox.jail.report import LayerState, Level, Report
from sandbox.jail.trial import Outcome, Trial, Tried
from sandbox.kernel import Kernel

NO_JAIL: Final = "there is no jail: notes are handled in the server's own process"


@dataclass(frozen=True, slots=True)
class Host:
    """The kernel, and what a worker in an empty folder has proven; None, with the reason, where none begins."""

    kernel: Kernel
    report: Report | None
    why: str | None = None

    def faults(self, mode: str, wanted: Level) -> tuple[str, ...]:
        """Say what is asked for and not in force on a host that is looked at alone, a sentence each."""
        if mode == "off":
            return ()
        found = []
        level = _level(self.report)
        if mode == "require" and level.rank < wanted.rank:
            found.append(f"jail level {wanted.value} is required and {level.value} is what this host gives")
        elif self.report is None:
            found.append(f"no worker can be started on this host, so nothing is served: {self.why}")
        return (*found, *_unproven(self.report))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        seen = self.kernel
        return {
            "system": seen.system,
            "release": seen.release,
            "machine": seen.machine,
            "openat2": seen.openat2 or "works",
            "landlock": seen.landlock,
            "mountIds": seen.mount_ids,
            "mountTable": seen.mount_table or "works",
            "level": _level(self.report).value,
            "layers": _layers(self.report),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Jailed:
    """The jail of one workspace: what a worker has proven, and how it was attacked.

    *why* says why there is no worker, or none that could attack. *part* is the path of the workspace's part of the
    state, as far as it is known who uses it; *part_why* says why workers get none.
    """

    report: Report | None = None
    trial: Trial | None = None
    why: str | None = None
    part: str | None = None
    part_why: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """The folder of one workspace as this process has opened it."""

    resolver: str
    resolver_why: str | None
    features: Features
    file_system: FileSystem | None
    is_same: bool
    """Whether its path still leads to it."""
    mounts_why: str | None = None
    """Why nobody notices that something is mounted or unmounted in it."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One workspace. *problem* says why it cannot be served at all; then there is no *opened*."""

    workspace: WorkspaceSettings
    required: Level | None
    mode: str
    wanted: Level
    quarantine: Mark | None
    jailed: Jailed = Jailed()
    opened: Opened | None = None
    problem: str | None = None

    @property
    def level(self) -> Level:
        """The level that a worker has here."""
        return _level(self.jailed.report)

    @property
    def has_failed(self) -> bool:
        """Whether a layer claimed to be in force and was not: then nothing of the jail counts."""
        return self.jailed.report is not None and self.jailed.report.failed

    @property
    def leaves(self) -> tuple[str, ...] | None:
        """What stays possible for a worker that was taken over; None where there is none, or none that counts."""
        return None if self.jailed.report is None or self.has_failed else self.jailed.report.leaves

    @property
    def is_sound(self) -> bool:
        """Whether it can be served, and all that was asked for is in force."""
        return self.problem is None and not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """Say what was asked for and is not in force, or what the level forbids and is possible; a sentence each."""
        found = []
        if self.quarantine is not None:
            found.append(f"it is closed {self.quarantine}; --clear opens it")
        if self.problem is not None:
            return tuple(found)
        if self.required is not None and self.level.rank < self.required.rank:
            found.append(
                f"jail level {self.required.value} is required and {self.level.value} is what it has; missing is"
                f" {self._missing}"
            )
        elif self.mode != "off" and self.jailed.report is None:
            found.append(f"no worker can be started for it, so it is not served: {self.jailed.why}")
        found += _unproven(self.jailed.report)
        if self.jailed.report is not None and self.level is not Level.NONE and self.jailed.trial is None:
            found.append(f"the jail could not be attacked: {self.jailed.why}")
        if self.jailed.trial is not None:
            found += [_fault(each, self.level) for each in self.jailed.trial.broken]
        if self.opened is not None and not self.opened.is_same:
            found.append("its folder was moved, replaced or removed meanwhile")
        return tuple(found)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Say what is weaker here than elsewhere, a sentence each."""
        found = []
        if self.mode == "off":
            found.append(f"{NO_JAIL} (--jail off)")
        elif self.has_failed or self.required is not None:
            pass  # which is a fault, or none
        elif self.level is Level.NONE and self.jailed.report is None:
            pass  # no worker can be started, and that is a fault
        elif self.level is Level.NONE:
            found.append(f"{NO_JAIL}; missing is {self._missing}")
        elif self.level.rank < self.wanted.rank:
            found.append(f"jail level {self.level.value}; missing is {self._missing}")
        if self.jailed.part_why is not None:
            found.append(f"{NO_PART}; {self.jailed.part_why}")
        if self.opened is not None:
            if self.opened.resolver_why is not None:
                found.append(f"paths are walked component by component: {self.opened.resolver_why}")
            report = self.jailed.report
            if self.opened.mounts_why is not None and report is not None and report.has("namespaces"):
                found.append(
                    "what is mounted or unmounted in it is seen by workers that begin afterwards, and by no other:"
                    f" {self.opened.mounts_why}"
                )
            found += self.opened.features.weaknesses
        return tuple(found)

    @property
    def _missing(self) -> str:
        """What keeps it from the level that is wanted, with the reasons."""
        if self.jailed.report is None:
            return f"any worker ({self.jailed.why})"
        found = missing(self.jailed.report, self.wanted)
        return ", ".join(f"{layer} ({reason})" for layer, reason in found)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        report, opened = self.jailed.report, self.opened
        return {
            "name": self.workspace.name,
            "path": self.workspace.path,
            "ok": self.is_sound,
            "problem": self.problem,
            "mode": self.mode,
            "level": self.level.value,
            "required": None if self.required is None else self.required.value,
            "layers": _layers(report),
            "leaves": None if self.leaves is None else list(self.leaves),
            "worker": None
            if report is None
            else {
                "kind": report.kind,
                "folder": report.cwd,
                "root": None if report.root_entries is None else list(report.root_entries),
                "resolver": report.resolver,
            },
            "statePart": self.jailed.part,
            "statePartWhy": self.jailed.part_why,
            "resolver": None if opened is None else opened.resolver,
            "resolverWhy": None if opened is None else opened.resolver_why,
            "fileSystem": None if opened is None else _file_system(opened),
            "sameFolder": opened is not None and opened.is_same,
            "policies": {**policies(self.workspace), "ignore": list(self.workspace.ignore)},
            "quarantine": None
            if self.quarantine is None
            else {"since": self.quarantine.moment, "why": self.quarantine.why},
            "attacks": None
            if self.jailed.trial is None
            else [_attack(each, self.jailed.trial) for each in self.jailed.trial.tried],
            "faults": list(self.faults),
            "weaknesses": list(self.weaknesses),
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The host and every workspace, and which jail was asked for."""

    host: Host
    workspaces: tuple[Examined, ...]
    mode: str
    wanted: Level

    @property
    def host_faults(self) -> tuple[str, ...]:
        """Say what of the jail is not in force where no workspace is there to say so of itself."""
        return () if self.workspaces else self.host.faults(self.mode, self.wanted)

    @property
    def is_sound(self) -> bool:
        """Whether all that was asked for is in force."""
        return not self.host_faults and all(each.is_sound for each in self.workspaces)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "ok": self.is_sound,
            "host": {**self.host.to_json(), "faults": list(self.host_faults)},
            "workspaces": [each.to_json() for each in self.workspaces],
        }


# -- words and values ----------------------------------------------------------------------------------


def _level(report: Report | None) -> Level:
    return Level.NONE if report is None else report.level


def _unproven(report: Report | None) -> list[str]:
    return [
        f"{layer.name} could not be proven: {layer.why}"
        for layer in (() if report is None else report.layers)
        if layer.state is LayerState.FAILED
    ]


def _fault(tried: Tried, level: Level) -> str:
    if tried.outcome is Outcome.POSSIBLE:
        return f"an attack worked that level {level.value} forbids: {tried.attack.what} ({tried.how})"
    return f"an attack ended in a way that proves nothing: {tried.attack.what} ({tried.how})"


def _layers(report: Report | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {
        layer.name: {"state": layer.state.value, "why": layer.why, "proof": list(layer.proof), **layer.facts}
        for layer in report.layers
    }


def _attack(tried: Tried, of: Trial) -> dict[str, Any]:
    return {
        "name": tried.attack.name,
        "what": tried.attack.what,
        "outcome": tried.outcome.value,
        "how": tried.how,
        "left": tried.is_left(of.report),
    }


def _file_system(opened: Opened) -> dict[str, Any]:
    features, seen = opened.features, opened.file_system
    return {
        "kind": None if seen is None else seen.kind,
        "readOnly": None if seen is None else seen.read_only,
        "renameFlags": features.rename_flags,
        "folderSync": features.folder_sync,
        "lock": features.lock,
        "foldsCase": features.folds_case,
        "normalises": features.normalises,
        "seesBindMounts": features.sees_bind_mounts,
    }
