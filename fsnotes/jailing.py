"""Decides how each workspace gets the jail that the settings ask for, and what is said where it is weaker.

A part of the wiring, apart because it is loaded only where a jail is not off. At best effort a workspace gets the
strongest jail that its host gives; where that is none, its commands run in this process, since another process
without walls would keep nobody out and could hold no promise. Where a jail is required, less is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import JailRequired
from fsnotes.jailed import JailedRunner
from fsnotes.notes.opening import PACKAGES, READER, WorkerOptions
from fsnotes.runners import InlineRunner, MixedRunner, Runner
from fsnotes.state import StateFolder
from fsnotes.workers import Begun, JailedWorkspace, WorkerMaker, begin, begin_at_best
from sandbox import Root
from sandbox.errors import LevelNotMet, WorkerFailed
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.resolve import ResolverChoice

Roots = Mapping[str, tuple[Root, tuple[str, ...]]]


class Jailing:
    """Puts the workspaces of one configuration behind workers. *make* makes these: `Jail`, or a test's own."""

    def __init__(
        self,
        settings: Settings,
        state: StateFolder,
        *,
        resolver: ResolverChoice,
        make: WorkerMaker | None = None,
    ) -> None:
        self._settings = settings
        self._state = state
        self._resolver = resolver
        self._make: WorkerMaker = Jail if make is None else make
        self._wanted = Level(settings.jail_level)
        self.notices: list[str] = []
        """What a person should know, one line each."""

    def runner(self, roots: Roots) -> Runner:
        """Return what runs commands in the opened *roots*, which it takes over; those that it does not need close.

        Raises JailRequired; then no worker is left.
        """
        jailed: dict[str, JailedWorkspace] = {}
        try:
            for workspace in self._settings.workspaces:
                begun = self._begin(workspace, roots[workspace.name][0])
                if begun is not None:
                    jailed[workspace.name] = JailedWorkspace(
                        begun,
                        self._make,
                        place=roots[workspace.name][0].place,
                        ignore=workspace.ignore,
                        max_note_bytes=workspace.policy.max_file_bytes,
                    )
        except BaseException:
            for started in jailed.values():
                started.close()
            raise
        for name in jailed:
            roots[name][0].close()
        inline = {name: opened for name, opened in roots.items() if name not in jailed}
        behind = JailedRunner(jailed, call_deadline=self._settings.call_deadline_seconds)
        if not inline:
            return behind
        runners: dict[str, Runner] = dict.fromkeys(jailed, behind)
        quotas = {workspace.name: workspace.quota for workspace in self._settings.workspaces}
        return MixedRunner(runners | dict.fromkeys(inline, InlineRunner(inline, quotas=quotas)))

    def _begin(self, workspace: WorkspaceSettings, root: Root) -> Begun | None:
        """Start the workspace's first worker; None where it would have no walls."""
        spec = self._spec(workspace, root)
        if self._settings.jail_mode == "require":
            return self._require(workspace, spec)
        try:
            begun = begin_at_best(spec, make=self._make)
        except LevelNotMet as failure:
            raise self._refused(workspace, failure) from failure
        except WorkerFailed as failure:
            self.notices.append(f"workspace {workspace.name!r}: jail level none ({failure.why})")
            return None
        if begun.require.rank < self._wanted.rank:
            self.notices.append(
                f"workspace {workspace.name!r}: jail level {begun.require.value}; missing is {_told(begun.missing)}"
            )
        if begun.require is Level.NONE:
            begun.worker.stop()
            return None
        return begun

    def _require(self, workspace: WorkspaceSettings, spec: JailSpec) -> Begun:
        try:
            return begin(spec, require=self._wanted, make=self._make)
        except LevelNotMet as failure:
            raise self._refused(workspace, failure) from failure
        except WorkerFailed as failure:
            raise JailRequired(
                f"workspace {workspace.name!r}: jail level {self._wanted.value} is required and none is what it has;"
                f" {failure.why}"
            ) from failure

    def _refused(self, workspace: WorkspaceSettings, failure: LevelNotMet) -> JailRequired:
        return JailRequired(
            f"workspace {workspace.name!r}: jail level {self._wanted.value} is required and {failure.reached} is"
            f" what it has; missing is {_told(failure.missing)}"
        )

    def _spec(self, workspace: WorkspaceSettings, root: Root) -> JailSpec:
        return JailSpec(
            workspace=workspace.path,
            kind="ro",
            handler=READER,
            index=self._index(workspace),
            options=WorkerOptions(workspace.policy, self._resolver, workspace.quota).to_json(),
            import_paths=import_folders(*PACKAGES),
            identity=root.identity,
        )

    def _index(self, workspace: WorkspaceSettings) -> str | None:
        """Return the part of the state that the workspace's workers get, or None where they could not reach it.

        Started by root, a worker becomes the owner of its workspace, to whom the state folder of root is closed.
        """
        if os.geteuid() == 0 and os.stat(workspace.path).st_uid != 0:
            return None
        return os.path.realpath(self._state.workspace(workspace.path))


def _told(missing: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{layer} ({reason})" for layer, reason in missing)
