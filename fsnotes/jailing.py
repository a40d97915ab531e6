"""Decides how each workspace gets the jail that the settings ask for, and what is said where it is weaker.

A part of the wiring, apart because it is loaded only where a jail is not off. At best effort a workspace gets the
strongest jail that its host gives; where that is none, its commands run in this process, since another process
without walls would keep nobody out and could hold no promise. Where a jail is required, less is an error.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.custody import NO_PART, Withheld, account_of, entrust
from fsnotes.deferred import DeferredRunner
from fsnotes.errors import JailRequired
from fsnotes.jailed import JailedRunner
from fsnotes.notes.opening import PACKAGES, READER, WorkerOptions
from fsnotes.runners import InlineRunner, MixedRunner, Runner
from fsnotes.state import Part, StateFolder
from fsnotes.workers import Begun, JailedWorkspace, WorkerMaker, begin, begin_again, begin_at_best
from sandbox import Root
from sandbox.errors import LevelNotMet, WorkerFailed
from sandbox.jail.conduct import Conduct
from sandbox.jail.endings import Ending
from sandbox.jail.events import Event, Happening
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.names import display
from sandbox.policy import Links
from sandbox.records import replace
from sandbox.resolve import ResolverChoice

_log = logging.getLogger("fsnotes.jailing")

Roots = Mapping[str, tuple[Root, tuple[str, ...]]]


class Closed(Protocol):
    """Is told that a workspace is closed."""

    def __call__(self, workspace: str, why: str, *, jail: str) -> None:
        """Close *workspace*, which was served at the level *jail*."""


def _nobody(workspace: str, why: str, *, jail: str) -> None:
    """Leave it to the workers, which remember it as long as they are there."""


def _open(workspace: str) -> bool:  # noqa: ARG001 - like its siblings
    """Take every workspace for open."""
    return False


class Jailing:
    """Puts the workspaces of one configuration behind workers. *make* makes these: `Jail`, or a test's own.

    *parts* are the parts of *state* that are for them, by their names, as `StateFolder.workspace` gave them, and *boot*
    is the id of the running boot.
    *closed* is told of a workspace whose workers broke their rules too often: its name, why, and its level.
    *is_closed* says of which that is so: nothing is started in one.
    """

    def __init__(
        self,
        settings: Settings,
        state: StateFolder,
        parts: Mapping[str, Part],
        *,
        resolver: ResolverChoice,
        boot: str | None,
        make: WorkerMaker | None = None,
        closed: Closed = _nobody,
        is_closed: Callable[[str], bool] = _open,
    ) -> None:
        self._settings = settings
        self._state = state
        self._parts = parts
        self._resolver = resolver
        self._boot = boot
        self._given = make
        self._closed = closed
        self._is_closed = is_closed
        self._jailed: dict[str, JailedWorkspace] = {}
        self._deferred: dict[str, DeferredRunner] = {}
        self._wanted = Level(settings.jail_level)
        self._is_running = False
        self.notices: list[str] = []
        """What a person should know, one line each."""

    def runner(self, roots: Roots) -> Runner:
        """Return what runs commands in the opened *roots*, which it takes over; those that it does not need close.

        Raises JailRequired, and ConfigurationError where one would have to be served in this process with another
        user's part of the state; then no worker is left.
        """
        jailed: dict[str, JailedWorkspace] = {}
        closed = {each.name: each for each in self._settings.workspaces if self._is_closed(each.name)}
        try:
            for workspace in self._settings.workspaces:
                if workspace.name not in closed:
                    made = self._jail(workspace, roots[workspace.name][0])
                    if made is not None:
                        jailed[workspace.name] = made
            inline = {
                name: opened for name, opened in roots.items() if name not in jailed and name not in closed
            }
            here = self._inline(inline) if inline else None
        except BaseException:
            for started in jailed.values():
                started.close()
            raise
        for name in jailed:
            roots[name][0].close()
        self._jailed = jailed
        self._deferred = {name: self._defer(each, roots[name]) for name, each in closed.items()}
        self._is_running = True
        behind = JailedRunner(jailed, call_deadline=self._settings.call_deadline_seconds)
        if here is None and not closed:
            return behind
        runners: dict[str, Runner] = dict.fromkeys(jailed, behind)
        if here is not None:
            runners |= dict.fromkeys(inline, here)
        return MixedRunner(runners | self._deferred)

    def _jail(self, workspace: WorkspaceSettings, root: Root) -> JailedWorkspace | None:
        """Put *workspace* behind workers; None where they would have no walls. Raises JailRequired."""
        make = self._maker(workspace.name)
        begun = self._begin(workspace, root, make)
        if begun is None:
            return None
        return JailedWorkspace(
            begun,
            make,
            place=root.place,
            ignore=workspace.ignore,
            max_note_bytes=workspace.policy.max_file_bytes,
        )

    def _defer(self, workspace: WorkspaceSettings, opened: tuple[Root, tuple[str, ...]]) -> DeferredRunner:
        """Return what runs the commands of a *workspace* that is closed, once it is open."""
        return DeferredRunner(
            partial(self._begin_late, workspace, opened),
            opened[0].close,
            seconds=self._settings.call_deadline_seconds,
        )

    def _begin_late(self, workspace: WorkspaceSettings, opened: tuple[Root, tuple[str, ...]]) -> Runner:
        name = workspace.name
        made = self._jail(workspace, opened[0])
        if made is None:
            return self._inline({name: opened})
        opened[0].close()
        self._jailed[name] = made
        # SAFETY: who closes it from here on ends these workers. If it was closed again while they began, nobody has;
        # and if it was opened again since, nobody else would start them anew.
        if self._is_closed(name):
            made.quarantine()
            if not self._is_closed(name):
                made.clear()
        return JailedRunner({name: made}, call_deadline=self._settings.call_deadline_seconds)

    def _notice(self, text: str) -> None:
        if self._is_running:
            _log.warning("%s", text)
        else:
            self.notices.append(text)

    def _inline(self, roots: Roots) -> Runner:
        quotas = {workspace.name: workspace.quota for workspace in self._settings.workspaces}
        parts = {name: self._parts[name].check_own() for name in roots}
        return InlineRunner(roots, quotas=quotas, parts=parts, boot=self._boot)

    def clear(self, workspace: str) -> None:
        """Let the workers of *workspace* begin anew."""
        if workspace in self._jailed:
            self._jailed[workspace].clear()
        elif workspace in self._deferred:
            self._deferred[workspace].prepare()

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
        begun = self._begin_bare(workspace, self.spec(workspace, root), make)
        if begun is None:
            return None
        try:
            begun, withheld = self.equip(workspace, root, begun, make=make)
        except BaseException:
            begun.worker.stop()
            raise
        if withheld is not None:
            self._notice(f"workspace {workspace.name!r}: {NO_PART}; {withheld}")
        return begun

    def _begin_bare(self, workspace: WorkspaceSettings, spec: JailSpec, make: WorkerMaker) -> Begun | None:
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
            self._notice(f"workspace {workspace.name!r}: jail level none ({failure.why})")
            return None
        if begun.require.rank < self._wanted.rank:
            self._notice(
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
        if failure.failed:
            return JailRequired(
                f"workspace {workspace.name!r}: what its jail claims could not be proven, so it is not served:"
                f" {_told(failure.missing)}"
            )
        if self._settings.jail_mode != "require":
            return JailRequired(
                f"workspace {workspace.name!r}: its jail had level {failure.required} and a moment later"
                f" {failure.reached}, so what it is worth is unknown; missing is {_told(failure.missing)}"
            )
        return JailRequired(
            f"workspace {workspace.name!r}: jail level {self._wanted.value} is required and {failure.reached} is"
            f" what it has; missing is {_told(failure.missing)}"
        )

    def spec(self, workspace: WorkspaceSettings, root: Root) -> JailSpec:
        """Return what the first worker of *workspace* is started with, which only looks.

        With its part of the state where that is this process's own and the worker's too; else it has none, see `equip`.
        """
        part = self._parts[workspace.name]
        is_own = part.is_own and account_of(root).uid == os.geteuid()
        return JailSpec(
            workspace=workspace.path,
            kind="ro",
            handler=READER,
            index=part.place.path if is_own else None,
            options=WorkerOptions(workspace.policy, self._resolver, workspace.quota, self._boot).to_json(),
            import_paths=import_folders(*PACKAGES),
            identity=root.identity,
            index_identity=part.place.identity if is_own else None,
            follows_links=workspace.policy.links is Links.WITHIN,
        )

    def equip(
        self, workspace: WorkspaceSettings, root: Root, begun: Begun, *, make: WorkerMaker
    ) -> tuple[Begun, str | None]:
        """Return a worker in the place of *begun* that has the workspace's part of the state; or else why it has none.

        Root's worker becomes the owner of its workspace. That it does is known once one stands, so the first one has
        no part, and root gives nothing away for it before.
        """
        if begun.spec.index is not None or begun.require is Level.NONE:
            return begun, None
        report = begun.worker.report
        place = entrust(self._state, self._parts[workspace.name], root, report)
        if isinstance(place, Withheld):
            return begun, place.why
        spec = replace(begun.spec, index=place.path, index_identity=place.identity)
        try:
            equipped = begin_again(begun, spec, make=make)
        except WorkerFailed as failure:
            return begun, f"none can be started with {display(place.path)}: {failure.why}"
        begun.worker.stop()
        return equipped, None


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
