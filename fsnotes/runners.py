"""Decides how a command reaches the workspace it is for: the only place where a workspace is opened for work.

A runner wants a `Grant`, so what was not authorized cannot run. Whether the command runs in this process or in
a jailed worker is the runner's secret; who may run what is decided above.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from fsnotes.access import Grant
from fsnotes.errors import Abandoned, ConfigurationError, LimitReached, NotAllowed, Unavailable
from fsnotes.notes.commands import (
    AppendNote,
    Command,
    CreateNote,
    EditNote,
    FindReceipt,
    MoveNotes,
    ReplyT,
    RestoreNote,
    SetProperties,
    SweepTemporaries,
    TrashNote,
)
from fsnotes.notes.counting import until_counted
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.opening import INDEX_FOLDER
from fsnotes.notes.replies import IndexKept
from fsnotes.notes.scope import EVERYWHERE, Scope
from sandbox import ROOT, Root
from sandbox.errors import RootUnusable
from sandbox.place import Place
from sandbox.policy import Quota

if TYPE_CHECKING:
    from fsnotes.notes.indexer import Indexer
    from fsnotes.notes.workspace import Workspace

MAX_PENDING: Final = 64
"""Changes of one workspace that may run or wait at once, and so many others: one slow workspace starves no other,
since a server has places for all of them, and changes that wait for its lock keep nobody from reading."""

CLOSED: Final = "this workspace is closed, since its workers did what they must not"
"""What is said of a workspace in quarantine."""

_NEEDS: Final[Mapping[type[Command[Any]], str]] = {
    AppendNote: "write",
    CreateNote: "write",
    EditNote: "write",
    MoveNotes: "write",
    RestoreNote: "write",
    SetProperties: "write",
    TrashNote: "delete",
}
"""The right that each command which changes something needs. One that is missing here is refused."""


TRANSACTION_SECONDS: Final = 2.0
"""What a command may take that runs while a confirmation is being claimed, waiting included."""

_IN_A_TRANSACTION: Final = (TrashNote, FindReceipt)


def time_for(command: Command[Any], seconds: float) -> float:
    """Return how many of the *seconds* of a call *command* may take: nobody may hold the ledger for long."""
    return min(seconds, TRANSACTION_SECONDS) if isinstance(command, _IN_A_TRANSACTION) else seconds


def never() -> bool:
    """Say that the caller still waits."""
    return False


def check_right(grant: Grant, command: Command[Any]) -> None:
    """Raise NotAllowed unless *grant* is of the right that *command* needs. Looking needs no more than a grant."""
    if command.changes and grant.right.value != _NEEDS.get(type(command)):
        raise NotAllowed("the grant is for something else")


class Pending:
    """Counts the commands of one workspace that run or wait. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts = {True: 0, False: 0}

    @contextmanager
    def admitted(self, *, change: bool) -> Iterator[None]:
        """Hold one of the MAX_PENDING places for the block. Raises LimitReached when there is none."""
        with self._mutex:
            if self._counts[change] >= MAX_PENDING:
                raise LimitReached("calls in this workspace")
            self._counts[change] += 1
        try:
            yield
        finally:
            with self._mutex:
                self._counts[change] -= 1


class Runner(Protocol):
    """Runs commands in workspaces. Thread-safe and synchronous."""

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command* within what *grant* covers. Raises the errors of `fsnotes.errors`."""

    def sweep(self, workspace: str, *, now: float) -> int:
        """Move old temporaries of *workspace* to its trash; return how many. On nobody's behalf."""

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Do what is next to keep the index of *workspace*; not for two threads at once. On nobody's behalf."""

    def jail(self, workspace: str) -> str:
        """Return the jail level that is enforced for *workspace*."""

    def close(self) -> None:
        """Let go of all workspaces."""


class _Served:
    __slots__ = ("ignore", "indexer", "part", "pending", "workspace")

    def __init__(self, workspace: Workspace, ignore: tuple[str, ...], part: str) -> None:
        self.workspace = workspace
        self.ignore = ignore
        self.part = part
        self.pending = Pending()
        self.indexer: Indexer | None = None


class InlineRunner:
    """Runs the handlers in the caller's thread: no jail."""

    def __init__(
        self,
        roots: Mapping[str, tuple[Root, tuple[str, ...]]],
        *,
        quotas: Mapping[str, Quota],
        parts: Mapping[str, Place],
        boot: str | None,
    ) -> None:
        """Take over the opened *roots*, each with what it ignores. *parts* are the folders of their own state.

        *boot* is the id of the running boot, None where nobody knows it. Raises ConfigurationError for a part that is
        not this account's, or not the folder that it was; then all roots are closed.
        """
        # What parses notes: where there is a jail, only workers load it.
        from fsnotes.notes.handlers import handle
        from fsnotes.notes.workspace import Workspace

        self._work = handle
        self._boot = boot
        self._served: dict[str, _Served] = {}
        try:
            for name, (root, ignore) in roots.items():
                workspace = Workspace(root, quotas[name], part=parts[name], boot=boot)
                self._served[name] = _Served(workspace, ignore, parts[name].path)
        except RootUnusable as error:
            self.close()
            for root, _ in roots.values():
                root.close()
            raise ConfigurationError(f"the part of the state of workspace {name!r}: {error}") from error

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command* in this thread. Raises LimitReached when too many wait for the same workspace."""
        check_right(grant, command)
        if abandoned():
            raise Abandoned
        served = self._find(grant.workspace.name)
        with served.pending.admitted(change=command.changes):
            return self._handle(served, Scope(grant.folders, served.ignore), command, abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep in this thread."""
        served = self._find(workspace)
        with served.pending.admitted(change=True):
            return self._handle(served, EVERYWHERE, SweepTemporaries(now=now), never).moved

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Keep the index in this thread."""
        served = self._find(workspace)
        if served.indexer is None:
            from fsnotes.notes.indexer import Indexer  # loads SQLite

            folder = os.path.join(served.part, INDEX_FOLDER)
            served.indexer = Indexer(served.workspace.root, folder, boot=self._boot)
        return served.indexer.keep(Scope((ROOT,), served.ignore), command)

    def jail(self, workspace: str) -> str:  # noqa: ARG002 - the protocol's
        """Return `none`: nothing is enforced around this process."""
        return "none"

    def close(self) -> None:
        """Close the roots."""
        for served in self._served.values():
            if served.indexer is not None:
                served.indexer.close()
            served.workspace.close()

    def _handle(
        self, served: _Served, scope: Scope, command: Command[ReplyT], abandoned: Callable[[], bool]
    ) -> ReplyT:
        return until_counted(
            lambda: self._work(served.workspace, scope, command, abandoned=abandoned), abandoned=abandoned
        )

    def _find(self, name: str) -> _Served:
        served = self._served.get(name)
        if served is None:
            raise not_served()
        # A root is the directory that was opened. Where its path leads elsewhere by now, the caller means another.
        if not served.workspace.root.place.still_holds():
            raise moved_away()
        return served


def not_served() -> Unavailable:
    """Return the refusal for a workspace that no runner has."""
    return Unavailable("this workspace is not being served")


def moved_away() -> Unavailable:
    """Return the refusal for a workspace whose folder is not at its path any more."""
    return Unavailable("the workspace's folder was moved, replaced or removed")


class GuardedRunner:
    """Runs nothing in a workspace that is closed, by whichever runner: what its notes may do is not known."""

    def __init__(self, runner: Runner, is_closed: Callable[[str], bool]) -> None:
        self._runner = runner
        self._is_closed = is_closed

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command*. Raises Unavailable while its workspace is closed."""
        self._check(grant.workspace.name)
        return self._runner.run(grant, command, abandoned=abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep. Raises Unavailable while the workspace is closed."""
        self._check(workspace)
        return self._runner.sweep(workspace, now=now)

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Keep the index. Raises Unavailable while the workspace is closed."""
        self._check(workspace)
        return self._runner.keep(workspace, command)

    def jail(self, workspace: str) -> str:
        """Return what is enforced for the workspace, closed or not."""
        return self._runner.jail(workspace)

    def close(self) -> None:
        """Close the runner."""
        self._runner.close()

    def _check(self, workspace: str) -> None:
        if self._is_closed(workspace):
            raise Unavailable(CLOSED)


class MixedRunner:
    """Runs the commands of each workspace where that workspace's own runner runs them."""

    def __init__(self, runners: Mapping[str, Runner]) -> None:
        self._runners = dict(runners)

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command* with the runner of its workspace."""
        return self._find(grant.workspace.name).run(grant, command, abandoned=abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep with the runner of the workspace."""
        return self._find(workspace).sweep(workspace, now=now)

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Keep the index with the runner of the workspace."""
        return self._find(workspace).keep(workspace, command)

    def jail(self, workspace: str) -> str:
        """Return what the workspace's runner enforces."""
        return self._find(workspace).jail(workspace)

    def close(self) -> None:
        """Close every runner once."""
        for runner in {id(runner): runner for runner in self._runners.values()}.values():
            runner.close()

    def _find(self, name: str) -> Runner:
        runner = self._runners.get(name)
        if runner is None:
            raise not_served()
        return runner
