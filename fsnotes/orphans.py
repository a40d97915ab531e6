"""Decides how the notes that no other note links to are found: from bounded calls, within the grant.

All notes that the caller may read are looked into for links, and then those of the folder are listed to which none
leads. Links that the caller cannot see count for nothing, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fsnotes.access import Grant
from fsnotes.errors import LimitReached
from fsnotes.notes.commands import FindTargets, ScanNotes, Skipped, TargetsFound, by_reason
from fsnotes.outcomes import Document
from fsnotes.outcomes import skipped as skip
from fsnotes.runners import Runner
from sandbox.records import record

MAX_CALLS: Final = 20_000
"""Bounded calls chained for one answer, and once more for the list: about a million notes."""


@record
class OrphansListed:
    """The *paths* of notes that no other note links to, and what could not be looked into, counted by reason."""

    paths: tuple[str, ...]
    skipped: tuple[Skipped, ...]

    def document(self) -> Document:
        """Return the JSON shape."""
        return {"orphans": list(self.paths), "skipped": [skip(item) for item in self.skipped]}


def list_orphans(
    runner: Runner, grant: Grant, folder: str, *, abandoned: Callable[[], bool]
) -> OrphansListed:
    """Return the notes in *folder* (empty: all) that no other note links to, in path order.

    With what could not be looked into, which may have links nobody knows of. Raises LimitReached.
    """
    listed: list[str] = []
    after: str | None = None
    for _ in range(MAX_CALLS):
        notes = runner.run(grant, ScanNotes(folder, recursive=True, after=after), abandoned=abandoned)
        listed += (note.path for note in notes.notes)
        after = notes.resume
        if after is None:
            break
    else:
        raise LimitReached("notes to list")
    linked, skipped = _linked(runner, grant, abandoned)
    return OrphansListed(tuple(path for path in listed if path not in linked), skipped)


def _linked(
    runner: Runner, grant: Grant, abandoned: Callable[[], bool]
) -> tuple[set[str], tuple[Skipped, ...]]:
    """Return all notes that links of others lead to, and what was not looked into."""
    linked: set[str] = set()
    skipped: tuple[Skipped, ...] = ()
    after: str | None = None
    within: int | None = None
    for turn in range(MAX_CALLS):
        found: TargetsFound = runner.run(grant, FindTargets(after, within, turn == 0), abandoned=abandoned)
        linked.update(found.targets)
        skipped = by_reason((*skipped, *found.skipped))
        after, within = found.resume, found.within
        if after is None:
            return linked, skipped
    raise LimitReached("notes to look into for links")
