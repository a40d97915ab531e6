"""Decides how a command is put to a jailed worker, and what its answer, or its failure, means.

An answer comes from a process that parses what anybody wrote, so it is hostile input: it is checked against the
command and the grant, and one that no honest worker gives is a breach. This process never opens a note. Which
workers there are is decided in `workers.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from fsnotes.access import Grant
from fsnotes.errors import (
    Abandoned,
    Busy,
    FsnotesError,
    InvalidArgument,
    NotItsTurn,
    OutcomeUnknown,
    Unavailable,
)
from fsnotes.notes.answers import check_reply
from fsnotes.notes.arguments import content_of
from fsnotes.notes.commands import (
    Command,
    CreateNote,
    MoveNotes,
    ReplyT,
    SweepTemporaries,
)
from fsnotes.notes.counting import until_counted
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.messages import BadMessage, decode_answer, encode_command
from fsnotes.notes.move_work import MAX_WORK
from fsnotes.notes.opening import RUN
from fsnotes.notes.refusal_checks import check_refusal
from fsnotes.notes.refusals import decode_error
from fsnotes.notes.replies import IndexKept
from fsnotes.notes.scope import EVERYWHERE, Scope
from fsnotes.runners import check_right, moved_away, never, not_served, time_for
from fsnotes.workers import JailedWorkspace, Worker, why
from sandbox import ROOT, errors
from sandbox.jail.events import Happening
from sandbox.names import display

WORK_SECONDS: Final = 1.0
"""A change that does not hold the workspace's lock so long before its deadline is given up, and never begun."""

RELINKING_SECONDS: Final = 0.05
"""What a move may take beyond a call's deadline for each note whose links it rewrites: two writes to a slow disk."""

SLOWER: Final = 4
"""So much longer than estimated a move may take to find the links that it rewrites."""

_log = logging.getLogger("fsnotes.jailed")


class JailedRunner:
    """Runs commands in the workers of their workspaces, one command after the other in each."""

    def __init__(self, workspaces: Mapping[str, JailedWorkspace], *, call_deadline: float) -> None:
        self._workspaces = dict(workspaces)
        self._call_deadline = call_deadline

    def run(self, grant: Grant, command: Command[ReplyT], *, abandoned: Callable[[], bool] = never) -> ReplyT:
        """Run *command* in a worker. Raises LimitReached when too many wait for the same workspace.

        When the worker fails, a command that only looks is Unavailable, and so is a change that had not reached
        the worker; any other change raises OutcomeUnknown. The worker is gone then, unless the kernel cannot end
        it, so what can be seen of a change is all that there will be.
        """
        check_right(grant, command)
        workspace = self._find(grant.workspace.name)
        if grant.right.value != "read":
            # Who looks with a right to change is about to: a deletion must not wait for a worker to start.
            workspace.prepare()
        return self._run(workspace, Scope(grant.folders, workspace.ignore), command, abandoned)

    def sweep(self, workspace: str, *, now: float) -> int:
        """Sweep in the worker that can change the workspace."""
        return self._run(self._find(workspace), EVERYWHERE, SweepTemporaries(now=now), never).moved

    def keep(self, workspace: str, command: KeepIndex) -> IndexKept:
        """Keep the index in the worker that does nothing else."""
        found = self._find(workspace)
        if not found.place.still_holds():
            raise moved_away()
        worker, scope = found.indexer(), Scope((ROOT,), found.ignore)
        deadline = time.monotonic() + self._call_deadline
        return self._put(worker, scope, command, deadline, deadline, never)

    def jail(self, workspace: str) -> str:
        """Return the level that is enforced for *workspace*."""
        return self._find(workspace).level.value

    def close(self) -> None:
        """End all workers."""
        for workspace in self._workspaces.values():
            workspace.close()

    def _find(self, name: str) -> JailedWorkspace:
        workspace = self._workspaces.get(name)
        if workspace is None:
            raise not_served()
        return workspace

    def _run(
        self,
        workspace: JailedWorkspace,
        scope: Scope,
        command: Command[ReplyT],
        abandoned: Callable[[], bool],
    ) -> ReplyT:
        if abandoned():
            raise Abandoned
        if isinstance(command, CreateNote):
            content_of(command, most=workspace.max_note_bytes)
        if not workspace.place.still_holds():
            raise moved_away()
        seconds = time_for(command, self._call_deadline)
        now = time.monotonic()
        # What a move has beyond that is for its own work: it begins as early as any other change.
        late = now + seconds - min(WORK_SECONDS, seconds / 2)
        deadline = now + seconds + _relinking(command)
        with workspace.pending.admitted(change=command.changes):
            worker = workspace.worker(
                command, seconds=seconds - min(WORK_SECONDS, seconds / 2), abandoned=abandoned
            )
            try:
                return until_counted(
                    lambda: self._put(worker, scope, command, deadline, late, abandoned),
                    abandoned=abandoned,
                    is_late=lambda: not time.monotonic() < late,
                )
            except (errors.Abandoned, Abandoned) as error:
                if abandoned():
                    raise Abandoned from error
                # Given up by us when it was too late to begin. Who has that worker is changing the workspace.
                raise (Busy() if worker.is_serving else NotItsTurn()) from error

    def _put(
        self,
        worker: Worker,
        scope: Scope,
        command: Command[ReplyT],
        deadline: float,
        late: float,
        abandoned: Callable[[], bool],
    ) -> ReplyT:
        """Let *worker* answer. One whose reply is none ends."""
        answer = self._ask(worker, scope, command, deadline, late, abandoned)
        try:
            return _read(scope, command, answer)
        except BadMessage as error:
            _log.error("a worker sent %s", error)
            worker.accuse("its reply is none that an honest worker sends")
            raise _failed(command, why(errors.WorkerBreach("")), sent=True) from error

    def _ask(
        self,
        worker: Worker,
        scope: Scope,
        command: Command[Any],
        deadline: float,
        late: float,
        abandoned: Callable[[], bool],
    ) -> dict[str, Any]:
        if command.changes:
            abandoned = _Patience(worker, abandoned, seconds=_lock_timeout(command), late=late)
        message = encode_command(scope, command)
        try:
            return worker.call(RUN, message, deadline=deadline, write=command.changes, abandoned=abandoned)
        except errors.JailBusy as busy:
            if worker.events and worker.events[-1].happening is Happening.NOT_STARTED:
                raise Unavailable("the workspace's worker cannot be started") from busy
            raise NotItsTurn from busy
        except errors.WorkerFailed as failure:
            raise _failed(command, why(failure), sent=failure.sent) from failure
        except errors.HandlerFailed as failure:
            _log.error("the handler of %s raised %s", type(command).__name__, display(failure.kind))
            raise _failed(command, "something went wrong in the workspace's worker", sent=True) from failure
        except ValueError as error:
            raise InvalidArgument("arguments", "longer than a worker takes") from error


class _Patience:
    """Says, asked again and again, whether a change that has not got the workspace's lock is given up.

    Who waits for the worker that makes all changes waits for other callers, as who waits for the lock does: both
    together take the *seconds* that the lock's timeout is, as they do for threads of one process. While no worker
    is there, nobody is waited for. It is too late in any case at the instant *late*.
    """

    def __init__(self, worker: Worker, abandoned: Callable[[], bool], *, seconds: float, late: float) -> None:
        self._worker = worker
        self._abandoned = abandoned
        self._left = seconds
        self._late = late
        self._asked = time.monotonic()

    def __call__(self) -> bool:
        now = time.monotonic()
        if self._worker.is_serving:
            self._left -= now - self._asked
        self._asked = now
        return not (self._left > 0 and now < self._late) or self._abandoned()


def _relinking(command: Command[Any]) -> float:
    """Return how many seconds a move has for the links that it rewrites, beyond what every call has."""
    if not isinstance(command, MoveNotes):
        return 0.0
    return len(command.notes) * RELINKING_SECONDS + SLOWER * min(command.work, MAX_WORK) / 1_000_000


def _lock_timeout(command: Command[Any]) -> float:
    """Return how many seconds a change waits for the lock: each of them says so."""
    seconds: float = getattr(command, "lock_timeout", 0.0)
    return seconds


def _read(scope: Scope, command: Command[ReplyT], answer: dict[str, Any]) -> ReplyT:
    """Return the reply in *answer*, or raise the refusal in it. Raises BadMessage for anything else."""
    if len(answer) == 1 and "refused" in answer:
        refusal = decode_error(answer["refused"])
        check_refusal(scope, command, refusal)
        raise refusal
    reply = decode_answer(command, answer)
    check_reply(scope, command, reply)
    return reply


def _failed(command: Command[Any], reason: str, *, sent: bool) -> FsnotesError:
    is_change = command.changes and not getattr(command, "dry_run", False)
    return OutcomeUnknown(reason) if is_change and sent else Unavailable(reason)
