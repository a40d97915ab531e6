"""Decides what is shown of a workspace to one who holds something in it: rights, policies, a bounded count of notes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from fsnotes.access import Access, Held, Right
from fsnotes.calls import Call
from fsnotes.errors import Abandoned, FsnotesError
from fsnotes.freshness import Freshness
from fsnotes.notes.commands import ScanNotes
from fsnotes.outcomes import WorkspaceShown
from fsnotes.runners import Runner
from sandbox.names import ROOT

COUNTED_SCANS: Final = 10
"""Bounded calls spent on counting a workspace's notes before the count is given as incomplete."""

_UNKNOWN: Final = frozenset({"unreadable", "too_many"})
"""Why something is skipped that may be a folder with notes in it."""

_log = logging.getLogger("fsnotes.service")


def show(
    access: Access,
    runner: Runner,
    held: Held,
    *,
    call: Call,
    policies: Mapping[str, Any],
    freshness: Freshness,
) -> WorkspaceShown:
    """Return what *call* is shown of what its principal holds. Raises Abandoned."""
    name = held.workspace.name
    notes, complete = 0, False
    known = _known_notes(held, freshness)
    if known is not None:
        notes, complete = known, True
    elif Right.READ in held.rights:
        grant = access.authorize(call.principal, held.workspace.uri, Right.READ)
        after: str | None = None
        unseen = False
        try:
            for _ in range(COUNTED_SCANS):
                scan = ScanNotes(str(held.folder), recursive=True, after=after)
                scanned = runner.run(grant, scan, abandoned=call.abandoned)
                notes += len(scanned.notes)
                unseen = unseen or any(item.reason in _UNKNOWN for item in scanned.skipped)
                after = scanned.resume
                if after is None:
                    complete = not unseen
                    break
        except Abandoned:
            raise
        except FsnotesError as error:
            # Gone, or not to be listed at the moment: the other workspaces are shown all the same.
            _log.warning("workspace %r: not counted: %s", name, type(error).__name__)
    return WorkspaceShown(
        uri=held.workspace.uri,
        name=name,
        folder=str(held.folder),
        rights=tuple(right.value for right in Right if right in held.rights),
        policies=policies,
        jail=runner.jail(name),
        notes=notes,
        complete=complete,
        index=_index_of(freshness),
    )


def _known_notes(held: Held, freshness: Freshness) -> int | None:
    """Return how many notes a whole workspace has, None where the index cannot tell right now."""
    if Right.READ not in held.rights or held.folder != ROOT:
        return None
    standing = freshness.standing()
    return standing.notes if standing.settled and not standing.paths else None


def _index_of(freshness: Freshness) -> str:
    progress = freshness.progress()
    if progress is None:
        return "none"
    return "ready" if progress.is_ready else "building"
