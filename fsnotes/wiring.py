"""Turns settings into a ready service: the only place that knows how commands reach a workspace.

Also owns what runs beside the calls: the sweep of killed writes' temporaries, at start and every hour.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from fsnotes.access import Access, Principal, Workspace
from fsnotes.audit import AuditLog, Event, Rotation
from fsnotes.calls import local_principal
from fsnotes.changes import Hubs
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.confirm import Confirmations, KeyRing, Ledger
from fsnotes.errors import ConfigurationError, FsnotesError, Unavailable
from fsnotes.folders import another_folder
from fsnotes.freshness import Progress
from fsnotes.indexing import boot_id, keepers, watching
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.replies import Skipped
from fsnotes.policies import policies
from fsnotes.quarantine import Quarantine
from fsnotes.runners import GuardedRunner, InlineRunner, Runner
from fsnotes.service import Service
from fsnotes.state import Part, StateFolder
from fsnotes.upkeep import Upkeep
from sandbox import Root
from sandbox.errors import SandboxError
from sandbox.names import display
from sandbox.records import record
from sandbox.uris import FileUri

if TYPE_CHECKING:
    from fsnotes.http_settings import HttpSettings
    from fsnotes.identity import Authenticator
    from fsnotes.workers import WorkerMaker

SWEEP_SECONDS: Final = 3600.0
MOST_KEPT: Final = 16
"""How many indexes one server keeps: each takes a worker, and one of the few watchers (128) that a user may have."""

LOOK_SECONDS: Final = 1.0
"""How often it is seen whether a quarantine was imposed or lifted by another process."""

Observer = Callable[[StrEnum], None]
ResolverChoice = Literal["auto", "openat2", "walk"]

_log = logging.getLogger("fsnotes.wiring")


def ignore(step: StrEnum) -> None:
    """Watch nothing: durable steps are observed by kill tests only."""


@record
class Product:
    """A service ready to be called, with what it holds open."""

    service: Service
    principal: Principal
    settings: Settings
    workspaces: tuple[Workspace, ...]
    notices: tuple[str, ...]
    _runner: Runner
    _audit: AuditLog
    _confirming: _Confirming
    _quarantine: Quarantine
    _clear: Callable[[str], None]
    _end: Callable[[str], None]
    _upkeeps: tuple[Upkeep, ...]
    _hubs: Hubs
    _clock: Callable[[], float]
    _stopping: threading.Event

    def keep_tidy(self) -> None:
        """Sweep temporaries, now and every hour, and look at quarantines every second, until closed."""
        for target in (self._sweep_for_ever, self._look_for_ever):
            threading.Thread(target=target, name="fsnotes-tidy", daemon=True).start()

    def keep_indexes(self) -> None:
        """Keep the search indexes of the first MOST_KEPT workspaces from now on, until closed."""
        for upkeep in self._upkeeps[:MOST_KEPT]:
            upkeep.start()

    def build_index(self, workspace: str, told: Callable[[Progress], None]) -> tuple[Skipped, ...]:
        """Bring the index of *workspace* up to date and have it on the disk; return what is left out.

        *told* is called after each step. Raises Busy while another process keeps it.
        """
        command = KeepIndex(folders=("",))
        skipped: tuple[Skipped, ...] = ()
        while True:
            kept = self._runner.keep(workspace, command)
            skipped = skipped if kept.skipped is None else kept.skipped
            told(Progress(kept.phase, kept.indexed, kept.remaining))
            if kept.idle:
                break
            command = KeepIndex()
        self._runner.keep(workspace, KeepIndex(whole=True))
        return skipped

    def look(self) -> None:
        """Notice the quarantines that other processes have imposed or lifted since."""
        before = {each.name for each in self.workspaces if self._quarantine.stands(each.name)}
        for name in self._quarantine.look():
            self._clear(name)
        for each in self.workspaces:
            if each.name not in before and self._quarantine.stands(each.name):
                self._end(each.name)

    def sweep(self) -> int:
        """Sweep all workspaces once; return how many temporaries went to the trash."""
        moved = 0
        for workspace in self.workspaces:
            try:
                count = self._runner.sweep(workspace.name, now=self._clock())
            except FsnotesError as error:
                _log.warning("workspace %r: not swept: %s", workspace.name, type(error).__name__)
                continue
            moved += count
            if count:
                self._note_sweep(workspace.name, count)
        return moved

    def _note_sweep(self, workspace: str, count: int) -> None:
        event = Event(
            principal="fsnotes",
            tool="sweep",
            workspace=workspace,
            path=None,
            jail=self._runner.jail(workspace),
            outcome=f"swept_{count}",
        )
        try:
            self._audit.refuse(event)
        except Unavailable:
            # Nothing was lost, and the other workspaces are to be swept all the same.
            _log.error("the audit log cannot be written: a sweep is missing from it")

    def close(self) -> None:
        """Let go of everything."""
        self._stopping.set()
        for upkeep in self._upkeeps:
            upkeep.close()
        self._hubs.close()
        self._runner.close()
        self._confirming.close()

    def _sweep_for_ever(self) -> None:
        while True:
            try:
                self.sweep()
            except Exception:  # noqa: BLE001 - the next sweep may do better, and nobody waits for this one
                _log.exception("the sweep failed")
            if self._stopping.wait(SWEEP_SECONDS):
                return

    def _look_for_ever(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the next look may do better, and nobody waits for this one
                _log.exception("the look at quarantines failed")


def build(
    settings: Settings,
    *,
    environ: Mapping[str, str] | None = None,
    observe: Observer = ignore,
    clock: Callable[[], float] = time.time,
    resolver: ResolverChoice = "auto",
    worker: WorkerMaker | None = None,
    inspect: Literal["skip", "try"] = "skip",
) -> Product:
    """Open what *settings* name and put the service together.

    With a jail, a worker of every workspace has proven its level when this returns, but for those that are closed, in
    which nothing is started until they are opened; and *observe* sees only what is done in this process. *worker* makes
    the workers: for tests. With *inspect* `try`, what each file system is weaker in is among the notices: two files of
    our own are made in the workspace for it, and removed.

    Raises ConfigurationError for a folder that cannot be served, JailRequired where the jail that is required
    cannot be had.
    """
    secrets = (os.environ if environ is None else environ).get("FSNOTES_STATE_KEYS")
    given = KeyRing.from_text(secrets) if secrets else None
    state = StateFolder.open(settings.state_dir)
    workspaces = tuple(_name(workspace) for workspace in settings.workspaces)
    rotation = Rotation(settings.audit_max_bytes, settings.audit_keep)
    audit = AuditLog(state.audit, rotation=rotation, clock=clock)
    quarantine = Quarantine(state, {each.name: each.path for each in settings.workspaces}, audit, clock=clock)
    roots: dict[str, tuple[Root, tuple[str, ...]]] = {}
    parts: dict[str, Part] = {}
    try:
        for workspace in settings.workspaces:
            part = parts[workspace.name] = state.workspace(workspace.path)
            roots[workspace.name] = (
                open_root(workspace, part, observe=observe, resolver=resolver),
                workspace.ignore,
            )
        weaker = _weaknesses(roots) if inspect == "try" else ()
        watches = {
            each.name: watching(each, roots[each.name][0], resolver=resolver) for each in settings.workspaces
        }
        inner, clear, end, notices = _runner(
            settings, state, parts, roots, resolver=resolver, worker=worker, quarantine=quarantine
        )
    except BaseException:
        for root, _ in roots.values():
            root.close()
        raise
    runner = GuardedRunner(inner, quarantine.stands)
    upkeeps = keepers(settings, runner.keep, watches)
    hubs = Hubs(watches)
    confirming = _Confirming(settings, state, given, observe)
    service = Service(
        Access(workspaces, settings.rules),
        runner,
        confirming.get,
        audit,
        policies={workspace.name: policies(workspace) for workspace in settings.workspaces},
        freshness=upkeeps,
        hubs=hubs,
        ignored={workspace.name: workspace.ignore for workspace in settings.workspaces},
        clock=clock,
    )
    return Product(
        service,
        local_principal(),
        settings,
        workspaces,
        (*_closed(quarantine, workspaces), *notices, *weaker),
        runner,
        audit,
        confirming,
        quarantine,
        clear,
        end,
        tuple(upkeeps.values()),
        hubs,
        clock,
        threading.Event(),
    )


def authenticator_for(settings: HttpSettings, product: Product) -> Authenticator | None:
    """Return how HTTP callers of *product* prove who they are; None where there is only who started the server.

    What is hardly meant so is logged. Raises ConfigurationError where nobody could prove anything.
    """
    from fsnotes import admission  # only who serves HTTP tells callers apart

    tokens = StateFolder(product.settings.state_dir).tokens
    made = admission.authenticator(settings, tokens=tokens)
    for doubt in admission.doubts(settings, product.settings.rules, tokens=tokens):
        _log.warning("%s", doubt)
    return made


def _closed(quarantine: Quarantine, workspaces: tuple[Workspace, ...]) -> tuple[str, ...]:
    marks = [(workspace.name, quarantine.mark(workspace.name)) for workspace in workspaces]
    return tuple(
        f"workspace {name!r} is closed {display(str(mark))}; fsnotes doctor --clear opens it"
        for name, mark in marks
        if mark is not None
    )


def _weaknesses(roots: Mapping[str, tuple[Root, tuple[str, ...]]]) -> tuple[str, ...]:
    found: list[str] = []
    for name, (root, _) in roots.items():
        try:
            found += [f"workspace {name!r}: {each}" for each in root.features().weaknesses]
        except SandboxError as error:
            found.append(f"workspace {name!r}: its file system could not be tried ({type(error).__name__})")
    return tuple(found)


def _runner(
    settings: Settings,
    state: StateFolder,
    parts: Mapping[str, Part],
    roots: dict[str, tuple[Root, tuple[str, ...]]],
    *,
    resolver: ResolverChoice,
    worker: WorkerMaker | None,
    quarantine: Quarantine,
) -> tuple[Runner, Callable[[str], None], Callable[[str], None], tuple[str, ...]]:
    """Return what runs commands, what is due when a quarantine is lifted and imposed, and what a person should know."""
    if settings.jail_mode == "off":
        quotas = {workspace.name: workspace.quota for workspace in settings.workspaces}
        own = {name: part.check_own() for name, part in parts.items()}
        inline = InlineRunner(roots, quotas=quotas, parts=own, boot=boot_id())
        return inline, lambda _: None, lambda _: None, ()
    from fsnotes.jailing import Jailing  # what supervises workers is a third of all that a command loads

    quarantine.reserve()
    jailing = Jailing(
        settings,
        state,
        parts,
        resolver=resolver,
        boot=boot_id(),
        make=worker,
        closed=quarantine.impose,
        is_closed=quarantine.stands,
    )
    return jailing.runner(roots), jailing.clear, jailing.quarantine, tuple(jailing.notices)


def _name(workspace: WorkspaceSettings) -> Workspace:
    uris = [FileUri.from_path(workspace.path)]
    if workspace.spelling != workspace.path:
        uris.append(FileUri.from_path(workspace.spelling))
    return Workspace(workspace.name, tuple(uris))


def open_root(
    workspace: WorkspaceSettings, part: Part, *, observe: Observer = ignore, resolver: ResolverChoice
) -> Root:
    """Open the folder of *workspace* under its policy, with a lock file in its own *part* of the state if need be.

    Raises ConfigurationError, with the path for the operator; also where it is not the folder that others serve.
    """
    try:
        root = Root.open(
            workspace.path,
            workspace.policy,
            resolver=resolver,
            lock_file=part.lock_file,
            lock_folder=part.place.identity,
            observe=observe,
        )
    except SandboxError as error:
        raise ConfigurationError(
            f"workspace {workspace.name!r} ({display(workspace.path)}): {error}"
        ) from error
    if workspace.identity not in (None, root.identity):
        root.close()
        raise another_folder(workspace.name, workspace.path)
    return root


class _Confirming:
    """Makes the confirmations when the first one is needed: keys and ledger cost every start otherwise."""

    def __init__(
        self, settings: Settings, state: StateFolder, given: KeyRing | None, observe: Observer
    ) -> None:
        self._settings = settings
        self._state = state
        self._given = given
        self._observe = observe
        self._mutex = threading.Lock()
        self._ledger: Ledger | None = None
        self._made: Confirmations | None = None

    def get(self) -> Confirmations:
        """Return the confirmations. Raises Unavailable when keys or ledger cannot be used, and Busy."""
        with self._mutex:
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        """Close the ledger, if it was ever opened."""
        with self._mutex:
            if self._ledger is not None:
                self._ledger.close()

    def _make(self) -> Confirmations:
        try:
            ring = self._given if self._given is not None else KeyRing.open(self._state.keys)
            self._ledger = Ledger.open(self._state.ledger, observe=self._observe)
        except ConfigurationError as error:
            # Found out within a call, so what it says of the host is for the operator alone.
            _log.error("confirmations cannot be made: %s", error)
            raise Unavailable("the keys or the ledger of confirmations cannot be used") from error
        return Confirmations(
            ring,
            self._ledger,
            ttl=self._settings.confirm_ttl_seconds,
            decline_memory=self._settings.decline_memory_seconds,
        )
