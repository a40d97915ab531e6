"""To which notes the links of others lead, a bounded stretch of the workspace a call: what is not among them is lonely.

A link leads to every file that answers to it, as in `linking.py`, and what leads to its own note counts for nothing.

Limit: of a link that more files answer to than MOST_CANDIDATES, the shortest ones count.
"""

from __future__ import annotations

import time
from typing import Final

from fsnotes.notes.begun import Scanned
from fsnotes.notes.catalogue import Resolution
from fsnotes.notes.commands import FindTargets, TargetsFound
from fsnotes.notes.link_walk import LinkWalk
from fsnotes.notes.markdown.links import Link
from fsnotes.notes.model import is_note
from fsnotes.notes.scope import Scope
from fsnotes.notes.stretches import MANY_ENTRIES, Clock, Stretch
from fsnotes.notes.workspace import Workspace

MOST_CANDIDATES: Final = 200
"""Most files that one link counts for."""


def find_targets(
    workspace: Workspace, scope: Scope, command: FindTargets, *, clock: Clock = time.monotonic
) -> TargetsFound:
    """Find the notes that links lead to in a stretch of the workspace; see `FindTargets`. Raises NotCounted."""
    walk = _Targets(workspace, scope, clock, anew=command.anew)
    stretch = Stretch(workspace.root, scope, after=command.after, entries=MANY_ENTRIES, clock=clock)
    walked = walk.through(stretch, after=command.after, within=command.within)
    return TargetsFound(tuple(walk.found), *walked)


class _Targets(LinkWalk):
    """What one call has found, each once."""

    def __init__(self, workspace: Workspace, scope: Scope, clock: Clock, *, anew: bool) -> None:
        super().__init__(workspace, scope, clock, anew=anew)
        self.found: dict[str, None] = {}
        # By the identity of candidates, which the catalogue keeps, those that were taken in already.
        self._taken: dict[int, tuple[str, ...]] = {}

    def counts(self, link: Link) -> bool:
        """Say whether it may lead to another note."""
        return super().counts(link) and bool(link.target)

    def judge(self, source: str, number: int, link: Link, scanned: Scanned, resolution: Resolution) -> None:  # noqa: ARG002
        """Take in to which notes it leads."""
        ids = resolution.ids
        if source not in ids[:MOST_CANDIDATES]:
            if id(ids) in self._taken:
                return
            self._taken[id(ids)] = ids
        for each in ids[:MOST_CANDIDATES]:
            if each != source and each not in self.found and is_note(each):
                self.found[each] = None
                self.told += len(each)
