"""Decides how a command reaches the workspace it is for: the only place where a workspace is opened for work.

A runner wants a `Grant`, so what was not authorized cannot run. Whether the command runs in this process or in
a jailed worker is the runner's secret; who may run what is decided above.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fsnotes.access import Grant
from fsnotes.errors import Abandoned, LimitReached, NotAllowed, Unavailable
from fsnotes.notes.commands import Command, CreateNote, ReplyT, RestoreNote, SweepTemporaries, TrashNote
from fsnotes.notes.handlers import Workspace, handle
from fsnotes.notes.scope import Scope
from sandbox import ROOT, Root

MAX_PENDING: Final = 32
"""Commands of one workspace that may run or wait at once: one slow workspace starves no other."""


_NEEDS: Final[Mapping[type[Command[Any]], str]] = {
    CreateNote: "write",
    RestoreNote: "write",
    TrashNote: "delete",
}
"""The right that each command which changes something needs. One that is missing here is refused."""


def _never() -> bool:
    return False


def _check(grant: Grant, command: Command[Any]) -> None:
    if command.changes and grant.right.value != _NEEDS.get(type(command)):
        raise NotAllowed("the grant is for something else")


class Runner(Protocol):
    """Runs commands in workspaces. Thread-safe and synchronous."""

    def run(
        self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = _never
    ) -> ReplyT:
        """Run *command* within what *grant* covers. Raises the errors of `fsnotes.errors`."""

    def sweep(self, workspace: str, *, now: float) -> int:
        """Move old temporaries of *workspace* to its trash; return how many. On nobody's behalf."""

    def jail(self, workspace: str) -> str:
        """Return the jail level that is enforced for *workspace*."""

    def close(self) -> None:
        """Let go of all workspaces."""


@dataclass(slots=True)
class _Served:
    workspace: Workspace
    path: str
    ignore: tuple[str, ...]
    pending: int = 0


class InlineRunner:
    """Runs the handlers in the caller's thread: no jail."""

    def __init__(self, roots: Mapping[str, tuple[Root, str, tuple[str, ...]]]) -> None:
        """Take for each workspace's name its root, the path that was opened, and what it ignores."""
        self._served = {
            name: _Served(Workspace(root), path, ignore) for name, (root, path, ignore) in roots.items()
        }
        self._mutex = threading.Lock()

    def run(
        self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = _never
    ) -> ReplyT:
        """Run *command* in this thread. Raises LimitReached when too many wait for the same workspace."""
        _check(grant, command)
        if abandoned():
            raise Abandoned
        with self._admitted(grant.workspace.name) as served:
            scope = Scope(grant.folders, served.ignore)
            return handle(served.workspace, scope, command, abandoned=abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep in this thread."""
        with self._admitted(workspace) as served:
            return handle(served.workspace, Scope((ROOT,)), SweepTemporaries(now=now)).moved

    def jail(self, workspace: str) -> str:  # noqa: ARG002 - the protocol's
        """Return `none`: nothing is enforced around this process."""
        return "none"

    def close(self) -> None:
        """Close the roots."""
        for served in self._served.values():
            served.workspace.root.close()

    @contextmanager
    def _admitted(self, name: str) -> Iterator[_Served]:
        served = self._served.get(name)
        if served is None:
            raise Unavailable("this workspace is not being served")
        with self._mutex:
            if served.pending >= MAX_PENDING:
                raise LimitReached("calls in this workspace")
            served.pending += 1
        try:
            # A root is the directory that was opened. Where its path leads elsewhere by now, the caller means another.
            if not served.workspace.root.is_still_at(served.path):
                raise Unavailable("the workspace's folder was moved, replaced or removed")
            yield served
        finally:
            with self._mutex:
                served.pending -= 1
