"""The story of a deletion: ask which note is meant, and remove it once a person's answer is proven.

What a form looks like and what an answer proves is decided in `fsnotes.confirm`; the seam that the change passes is
`story.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fsnotes.access import Access, Grant, Right
from fsnotes.calls import Call
from fsnotes.candidates import find_candidates
from fsnotes.confirm import (
    AlreadyDone,
    AskAgain,
    Asked,
    Binding,
    Cancelled,
    Candidate,
    Confirmations,
    Confirmed,
    Declined,
    digest_arguments,
    digest_call,
)
from fsnotes.errors import (
    Busy,
    DeceptiveName,
    FsnotesError,
    InvalidArgument,
    OutcomeUnknown,
    Unavailable,
)
from fsnotes.notes.commands import FindReceipt, TrashNote
from fsnotes.notes.model import fold
from fsnotes.notes.translating import OF_STORAGE
from fsnotes.outcomes import Deletion
from fsnotes.runners import Runner
from fsnotes.story import Story

DELETE_TOOL: Final = "notes_delete"
_METHOD: Final = "tools/call"

_log = logging.getLogger("fsnotes.service")


class Deletions:
    """Deletes notes, each after a person has confirmed it."""

    def __init__(
        self,
        access: Access,
        runner: Runner,
        confirmations: Callable[[], Confirmations],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._access = access
        self._runner = runner
        self._confirmations = confirmations
        self._clock = clock

    def delete(
        self,
        call: Call,
        workspace_uri: str,
        title: str,
        *,
        arguments: Mapping[str, object],
        state: object,
        answers: object,
        story: Story,
    ) -> Asked | Deletion:
        """Do one round; see `Service.delete`."""
        if not title.strip():
            raise InvalidArgument("title", "it is empty")
        grant = self._access.authorize(call.principal, workspace_uri, Right.DELETE)
        binding = Binding(
            principal=call.principal.name,
            method=_METHOD,
            tool=DELETE_TOOL,
            arguments=digest_arguments(arguments),
            same_call=digest_call(call.principal.name, DELETE_TOOL, grant.workspace.uri, fold(title)),
        )
        confirmations = self._confirmations()
        if state is not None:
            match confirmations.resume(binding, state=state, answers=answers, now=self._clock()):
                case Confirmed() as confirmed:
                    return self._remove(call, workspace_uri, confirmed, story)
                case Declined():
                    story.refused("declined")
                    return Deletion("declined")
                case Cancelled():
                    return Deletion("cancelled")
                case AskAgain():
                    pass
        if confirmations.recently_declined(binding, now=self._clock()):
            return Deletion("declined")
        candidates = find_candidates(self._runner, grant, title, abandoned=call.abandoned)
        asked = self._ask(binding, candidates, workspace=grant.workspace.name)
        return Deletion("declined") if isinstance(asked, Declined) else asked

    def _ask(self, binding: Binding, candidates: Sequence[Candidate], *, workspace: str) -> Asked | Declined:
        """Offer the candidates; one that the form cannot show as it is keeps no other from being offered."""
        confirmations, now = self._confirmations(), self._clock()
        try:
            return confirmations.ask(binding, candidates, workspace=workspace, now=now)
        except DeceptiveName as error:
            shown = [candidate for candidate in candidates if candidate.path not in error.paths]
            if not shown:
                raise
        return confirmations.ask(binding, shown, workspace=workspace, now=now)

    def _remove(self, call: Call, workspace_uri: str, confirmed: Confirmed, story: Story) -> Deletion:
        """Claim the confirmation and move the note, as one: from BEGIN to COMMIT nothing waits for anybody."""
        deletion = Deletion("deleted", confirmed.path, confirmed.entry)
        moved = False
        try:
            with self._confirmations().claim(confirmed, now=self._clock()):
                grant = self._access.authorize(call.principal, workspace_uri, Right.DELETE)
                story.begin(grant, path=confirmed.path)
                command = TrashNote(confirmed.path, confirmed.etag, confirmed.entry)
                try:
                    self._runner.run(grant, command)
                except (Unavailable, OutcomeUnknown) as error:
                    # Something failed on the way; the entry tells whether the move had happened.
                    if not self._has_receipt(grant, confirmed, error):
                        raise
                moved = True
        except AlreadyDone:
            story.refused("already_deleted", path=confirmed.path)
            return deletion
        except (Busy, Unavailable) as error:
            if not moved:
                raise
            # The commit failed, and the note is in its entry: that is what happened, so that is what is said. A
            # retry finds the entry, answers the same and spends the state; restoring spends it as well.
            _log.error("the ledger could not be written after a deletion: %r", error.__cause__)
        story.done("deleted", before=confirmed.etag)
        return deletion

    def _has_receipt(self, grant: Grant, confirmed: Confirmed, failure: Unavailable | OutcomeUnknown) -> bool:
        """Say whether the note is in its entry. Raises OutcomeUnknown when that cannot be found out.

        A *failure* of anything but the storage (a folder that has moved away, a trash that is none, a worker that was
        not reached) says itself that nothing was done, and is raised.
        """
        receipt = FindReceipt(confirmed.path, confirmed.etag, confirmed.entry)
        try:
            return self._runner.run(grant, receipt).found
        except FsnotesError:
            if isinstance(failure, OutcomeUnknown) or failure.why not in OF_STORAGE:
                raise failure from None
            raise OutcomeUnknown("the trash cannot be looked at") from failure
