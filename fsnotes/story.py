"""The seam that every change passes: its line in the audit log is reserved before it and settled after it.

Refusals get their line here too. What happens between is decided in `service.py`.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType
from typing import Final, Self

from fsnotes.access import Grant
from fsnotes.audit import AuditLog, Event, Reservation
from fsnotes.calls import Call
from fsnotes.errors import Abandoned, FsnotesError, InvalidState, NotAllowed, Unavailable
from fsnotes.runners import Runner
from sandbox.records import replace

_log = logging.getLogger("fsnotes.service")

_UNCHANGED_TOOLS: Final = frozenset(
    {
        "completion/complete",
        "notes_links",
        "notes_list",
        "notes_read",
        "notes_search",
        "notes_tags",
        "notes_trash",
        "prompts/get",
        "resources/read",
        "subscriptions/listen",
    }
)


class Story:
    """One operation: one audit line for each change, reserved before it, and one for each refusal."""

    def __init__(
        self,
        audit: AuditLog,
        runner: Runner,
        call: Call,
        tool: str,
        workspace_uri: str,
        path: str | None,
        *,
        new_path: str | None = None,
    ) -> None:
        self._audit = audit
        self._runner = runner
        self._reservation: Reservation | None = None
        self._changes = tool not in _UNCHANGED_TOOLS
        self._event = Event(
            principal=call.principal.name,
            tool=tool,
            workspace=workspace_uri,
            path=path,
            jail="none",
            request_id=call.request_id,
            trace_id=call.trace_id,
            new_path=new_path,
        )

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def enter(self, grant: Grant, *, path: str | None = None) -> None:
        """Take note of the workspace, and of the note if that is known: a refusal is one in that workspace."""
        name = grant.workspace.name
        self._event = replace(
            self._event, workspace=name, path=path or self._event.path, jail=self._runner.jail(name)
        )

    def begin(self, grant: Grant, *, path: str | None = None) -> None:
        """Reserve the line of a change that is about to be made. Raises Unavailable when there is no room."""
        self.enter(grant, path=path)
        self._reservation = self._audit.reserve(self._event)

    def done(
        self,
        outcome: str,
        *,
        path: str | None = None,
        before: str | None = None,
        after: str | None = None,
        new_path: str | None = None,
    ) -> None:
        """Say what the change was."""
        reservation, self._reservation = self._reservation, None
        if reservation is not None:
            reservation.settle(outcome, path=path, before=before, after=after, new_path=new_path)

    def refused(self, outcome: str, *, path: str | None = None) -> None:
        """Log a refusal. Never fails: a full disk must not turn a refusal into anything else."""
        try:
            self._audit.refuse(replace(self._event, outcome=outcome, path=path or self._event.path))
        except Unavailable:
            _log.error("the audit log cannot be written: a refusal is missing from it")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, Unavailable):
            # The caller is told to ask the operator, and this is what the operator needs. Host paths stay here.
            _log.error("%s is unavailable: %s: %r", self._event.tool, error.why, error.__cause__)
        if self._reservation is not None:
            reservation, self._reservation = self._reservation, None
            reservation.refuse(_outcome(error))
        elif isinstance(error, NotAllowed) or (self._changes and isinstance(error, FsnotesError)):
            if isinstance(error, Abandoned):
                return
            if isinstance(error, InvalidState):
                _log.warning("%s: state refused: %s", self._event.tool, error.reason)
            self.refused(_outcome(error))


def _outcome(error: BaseException) -> str:
    """Return the class of *error* in the log's words: NoteExists is `note_exists`."""
    if isinstance(error, NotAllowed):
        return "not_allowed"
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
