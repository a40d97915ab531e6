"""Decides how each workspace gets the jail that the settings ask for, and what is said where it is weaker.

A part of the wiring, apart because it is loaded only where a jail is not off. At best effort a workspace gets the
strongest jail that its host gives; where that is none, its commands run in this process, since another process
without walls would keep nobody out and could hold no promise. Where a jail is required, less is an error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import JailRequired
from fsnotes.jailed import JailedRunner
from fsnotes.notes.opening import PACKAGES, READER, WorkerOptions
from fsnotes.runners import InlineRunner, MixedRunner, Runner
from fsnotes.workers import Begun, JailedWorkspace, WorkerMaker, begin, begin_at_best
from sandbox import Root
from sandbox.errors import LevelNotMet, WorkerFailed
from sandbox.jail.conduct import Conduct
from sandbox.jail.endings import Ending
from sandbox.jail.events import Event, Happening
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.policy import Links
from sandbox.resolve import ResolverChoice

Roots = Mapping[str, tuple[Root, tuple[str, ...]]]


class Closed(Protocol):
    """Is told that a workspace is closed."""

    def __call__(self, workspace: str, why: str, *, jail: str) -> None:
        """Close *workspace*, which was served at the level *jail*."""


def _nobody(workspace: str, why: str, *, jail: str) -> None:
    """Leave it to the workers, which remember it as long as they are there."""


class Jailing:
    """Puts the workspaces of one configuration behind workers. *make* makes these: `Jail`, or a test's own.

    *parts* are the parts of the state that belong to them, by their names, as `StateFolder.workspace` gave them.
    *closed* is told of a workspace whose workers broke their rules too often: its name, why, and its level.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Mapping[str, str],
        *,
        resolver: ResolverChoice,
        make: WorkerMaker | None = None,
        closed: Closed = _nobody,
    ) -> None:
        self._settings = settings
        self._parts = parts
        self._resolver = resolver
        self._given = make
        self._closed = closed
        self._jailed: dict[str, JailedWorkspace] = {}
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
                make = self._maker(workspace.name)
                begun = self._begin(workspace, roots[workspace.name][0], make)
                if begun is not None:
                    jailed[workspace.name] = JailedWorkspace(
                        begun,
                        make,
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
        self._jailed = jailed
        inline = {name: opened for name, opened in roots.items() if name not in jailed}
        behind = JailedRunner(jailed, call_deadline=self._settings.call_deadline_seconds)
        if not inline:
            return behind
        runners: dict[str, Runner] = dict.fromkeys(jailed, behind)
        quotas = {workspace.name: workspace.quota for workspace in self._settings.workspaces}
        here = InlineRunner(inline, quotas=quotas, parts=self._parts)
        return MixedRunner(runners | dict.fromkeys(inline, here))

    def clear(self, workspace: str) -> None:
        """Let the workers of *workspace* begin anew."""
        if workspace in self._jailed:
            self._jailed[workspace].clear()

    def quarantine(self, workspace: str) -> None:
        """End the workers of *workspace* until `clear`."""
        if workspace in self._jailed:
            self._jailed[workspace].quarantine()

    def _maker(self, workspace: str) -> WorkerMaker:
        if self._given is not None:
            return self._given
        # One of each for all workers of a workspace, whose breaches count together.
        return partial(
            Jail, observe=_Witness(partial(self._closed, workspace)), conduct=Conduct(time.monotonic)
        )

    def _begin(self, workspace: WorkspaceSettings, root: Root, make: WorkerMaker) -> Begun | None:
        """Start the workspace's first worker; None where it would have no walls."""
        spec = self.spec(workspace, root)
        if self._settings.jail_mode == "require":
            return self._require(workspace, spec, make)
        try:
            begun = begin_at_best(spec, make=make)
        except LevelNotMet as failure:
            raise self._refused(workspace, failure) from failure
        except WorkerFailed as failure:
            if os.uname().sysname == "Linux":
                # Some jail, or none, is what a host gives; no worker is something else, and anybody's doing.
                raise JailRequired(
                    f"workspace {workspace.name!r}: no worker can be started for it, so what it is worth is unknown;"
                    f" {failure.why}"
                ) from failure
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

    def _require(self, workspace: WorkspaceSettings, spec: JailSpec, make: WorkerMaker) -> Begun:
        try:
            return begin(spec, require=self._wanted, make=make)
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

    def spec(self, workspace: WorkspaceSettings, root: Root) -> JailSpec:
        """Return what the worker of *workspace* is started with that only looks."""
        return JailSpec(
            workspace=workspace.path,
            kind="ro",
            handler=READER,
            index=self._index(workspace),
            options=WorkerOptions(workspace.policy, self._resolver, workspace.quota).to_json(),
            import_paths=import_folders(*PACKAGES),
            identity=root.identity,
            follows_links=workspace.policy.links is Links.WITHIN,
        )

    def _index(self, workspace: WorkspaceSettings) -> str | None:
        """Return the part of the state that the workspace's workers get, or None where they could not reach it.

        Started by root, a worker becomes the owner of its workspace, to whom the state folder of root is closed.
        """
        if os.geteuid() == 0 and os.stat(workspace.path).st_uid != 0:
            return None
        return self._parts[workspace.name]


class _Witness:
    """Watches the workers of one workspace, and tells once they are not to be started any more."""

    def __init__(self, closed: Callable[..., None]) -> None:
        self._closed = closed
        self._level = Level.NONE.value
        self._breach = ""

    def __call__(self, event: Event) -> None:
        if event.happening is Happening.STARTED:
            self._level = event.why
        elif event.happening is Happening.ENDED and event.ending is Ending.BREACH:
            self._breach = event.why
        elif event.happening is Happening.QUARANTINED:
            why = f"its workers broke their rules too often, at last: {self._breach or event.why}"
            self._closed(why, jail=self._level)


def _told(missing: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{layer} ({reason})" for layer, reason in missing)
