"""Decides how a host and its workspaces are examined.

A workspace is opened and jailed as a server does it, and then attacked. Nothing of a note is read, and nothing is
left in a workspace. What is made of the findings is in `findings.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from fsnotes.access import Right
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import ConfigurationError
from fsnotes.findings import Diagnosis, Examined, Host, Jailed, Opened
from fsnotes.jailing import Jailing
from fsnotes.notes.opening import PACKAGES
from fsnotes.quarantine import Marks
from fsnotes.state import Part, StateFolder
from fsnotes.wiring import ResolverChoice, open_root
from fsnotes.workers import begin_at_best
from sandbox import Root, kernel, records
from sandbox.errors import LevelNotMet, SandboxError, WorkerFailed
from sandbox.filesystem import identify
from sandbox.jail import trial
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level, Report, WorkerKind
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.jail.trial import NoPlaceError, no_stop
from sandbox.kernel import Kernel


def examine(
    settings: Settings, *, resolver: ResolverChoice = "auto", checkpoint: Callable[[], None] = no_stop
) -> Diagnosis:
    """Examine the host and the workspaces of *settings*, one after the other; some ten workers start for each.

    The calling thread starts workers, so it must live as long as this. *checkpoint* is called every few moments, and
    may raise to end it all. With `read_only`, nothing is made in a workspace, not even for a moment. Raises
    ConfigurationError when the state folder cannot be used.
    """
    host = _examine_host()
    found: tuple[Examined, ...] = ()
    if settings.workspaces:
        examiner = _Examiner(settings, resolver, checkpoint, kernel=host.kernel)
        found = tuple(examiner.examine(each) for each in settings.workspaces)
    return Diagnosis(host, found, settings.jail_mode, Level(settings.jail_level))


def _examine_host() -> Host:
    seen = kernel.look()
    try:
        return Host(seen, trial.try_host(import_folders(*PACKAGES)))
    except WorkerFailed as failure:
        return Host(seen, None, failure.why)
    except NoPlaceError as error:
        return Host(seen, None, str(error))


class _Examiner:
    """Looks at workspaces as a server with these settings would have them."""

    def __init__(
        self,
        settings: Settings,
        resolver: ResolverChoice,
        checkpoint: Callable[[], None],
        *,
        kernel: Kernel,
    ) -> None:
        self._settings = settings
        self._state = StateFolder.open(settings.state_dir)
        self._marks = Marks(self._state)
        self._resolver: ResolverChoice = resolver
        self._checkpoint = checkpoint
        self._kernel = kernel

    def examine(self, workspace: WorkspaceSettings) -> Examined:
        """Open it, jail it, attack it."""
        self._checkpoint()
        mode, wanted = self._settings.jail_mode, Level(self._settings.jail_level)
        found = Examined(
            workspace,
            required=wanted if mode == "require" else None,
            mode=mode,
            wanted=wanted,
            quarantine=self._marks.find(workspace.path),
        )
        try:
            part = self._state.workspace(workspace.path)
            root = open_root(workspace, part, resolver=self._resolver)
        except ConfigurationError as error:
            return replace(found, problem=str(error))
        with root:
            jailed = Jailed(why="--jail off") if mode == "off" else self._jail(workspace, root, part)
            if mode == "off" or _is_served_inline(jailed):
                try:
                    jailed = replace(jailed, part=part.check_own().path)
                except ConfigurationError as error:
                    return replace(found, jailed=jailed, problem=str(error))
            self._checkpoint()
            try:
                opened = self._open(root)
            except SandboxError as error:
                why = f"its file system could not be tried ({type(error).__name__})"
                return replace(found, jailed=jailed, problem=f"workspace {workspace.name!r}: {why}")
        return replace(found, jailed=jailed, opened=opened)

    def _open(self, root: Root) -> Opened:
        return Opened(
            root.resolver_name,
            self._kernel.openat2 if root.resolver_name == "walk" else None,
            root.features(names="skip" if self._settings.read_only else "try"),
            identify(root.place),
            is_same=root.place.still_holds(),
            mounts_why=self._kernel.mount_table,
        )

    def _jail(self, workspace: WorkspaceSettings, root: Root, part: Part) -> Jailed:
        """Begin as a server does; then attack from a worker of the most powerful kind that it would start."""
        jailing = Jailing(
            self._settings, self._state, {workspace.name: part}, resolver=self._resolver, boot=None
        )
        spec = jailing.spec(workspace, root)
        try:
            begun = begin_at_best(spec, make=Jail)
        except LevelNotMet as failed:
            return Jailed(_prove_again(spec), why=failed.why)
        except WorkerFailed as failure:
            return Jailed(why=failure.why)
        try:
            begun, withheld = jailing.equip(workspace, root, begun, make=Jail)
        finally:
            begun.worker.stop()
        report = begun.worker.report
        if begun.require is Level.NONE:
            return Jailed(report, why="no layer is in force")
        found = self._attack(records.replace(begun.spec, kind=self._kind(workspace)), begun.require, report)
        return replace(found, part=begun.spec.index, part_why=withheld)

    def _attack(self, spec: JailSpec, require: Level, report: Report | None) -> Jailed:
        keys = self._state.keys
        if not os.path.lexists(keys):
            keys = os.path.dirname(keys)
        try:
            found = trial.attack(spec, require=require, keys=keys, checkpoint=self._checkpoint)
        except WorkerFailed as failure:
            return Jailed(report, why=failure.why)
        except NoPlaceError as error:
            return Jailed(report, why=str(error))
        return Jailed(found.report, found)

    def _kind(self, workspace: WorkspaceSettings) -> WorkerKind:
        changes = {Right.WRITE, Right.DELETE}
        rules = (rule for rule in self._settings.rules if rule.workspace == workspace.name)
        return "rw" if any(changes & rule.allow for rule in rules) else "ro"


def _is_served_inline(jailed: Jailed) -> bool:
    """Whether a server would handle its notes in its own process: a worker says that there are no walls for one."""
    report = jailed.report
    return report is not None and not report.failed and report.level is Level.NONE


def _prove_again(spec: JailSpec) -> Report | None:
    try:
        return trial.prove(spec)
    except WorkerFailed:
        return None
