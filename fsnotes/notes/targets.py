"""To which notes the links of others lead, a bounded stretch of the workspace a call: what is not among them is lonely.

A link leads to every file that answers to it, as in `linking.py`, and what leads to its own note counts for nothing.

Limit: of a link that more files answer to than MOST_CANDIDATES, the shortest ones count.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Final

from fsnotes.errors import NotText
from fsnotes.notes.begun import Begun, Scanned
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.commands import FindTargets, TargetsFound
from fsnotes.notes.linking import CALL_SECONDS, LEAST_LINKS, begun_text, may_have_links
from fsnotes.notes.model import is_note
from fsnotes.notes.scope import Scope
from fsnotes.notes.stretches import MANY_ENTRIES, TOLD_CHARACTERS, Clock, Stretch
from fsnotes.notes.texts import decoded
from fsnotes.notes.workspace import Workspace

MOST_CANDIDATES: Final = 200
"""Most files that one link counts for."""


def find_targets(
    workspace: Workspace, scope: Scope, command: FindTargets, *, clock: Clock = time.monotonic
) -> TargetsFound:
    """Find the notes that links lead to in a stretch of the workspace; see `FindTargets`. Raises NotCounted."""
    search = _Targets(workspace.begun, workspace.views.of(scope, anew=command.anew), clock)
    stretch = Stretch(workspace.root, scope, after=command.after, entries=MANY_ENTRIES, clock=clock)
    if command.after is not None and command.within is not None:
        begun = begun_text(workspace.root, scope, command.after)
        stopped = None if begun is None else search.take(command.after, begun, first=command.within)
        if stopped is not None:
            return TargetsFound(tuple(search.found), (), command.after, stopped)
    with closing(stretch.notes()) as notes:
        for note, data in notes:
            path = str(note.path)
            try:
                text = decoded(data, path=path)
            except NotText:
                stretch.skip(note, "not_text")
                continue
            if may_have_links(data):
                stopped = search.take(path, text)
                if stopped is not None:
                    return TargetsFound(tuple(search.found), stretch.counted, path, stopped)
    return TargetsFound(tuple(search.found), stretch.counted, stretch.resume, None)


class _Targets:
    """What one call has found, each once, and whether it has done enough."""

    def __init__(self, begun: Begun, files: Catalogue, clock: Clock) -> None:
        self.found: dict[str, None] = {}
        self._begun = begun
        self._files = files
        self._clock = clock
        self._end = clock() + CALL_SECONDS
        self._judged = self._told = 0
        # By the identity of candidates, which the catalogue keeps, those that were taken in already.
        self._taken: dict[int, tuple[str, ...]] = {}

    def take(self, source: str, text: str, *, first: int = 0) -> int | None:
        """Take in what the links of the note *source* lead to, as `linking` does it, and return what it returns."""
        scanned = self._begun.take(text)
        if scanned is None:
            start = self._clock()
            scanned = Scanned(text)
            self._end = max(self._end, 2 * self._clock() - start)
        for number in range(first, len(scanned.links)):
            link = scanned.links[number]
            if link.external or link.path is None or not link.target:
                continue
            if self._told >= TOLD_CHARACTERS or (
                self._judged >= LEAST_LINKS and not self._clock() < self._end
            ):
                self._begun.keep(scanned)
                return number
            self._judged += 1
            self._add(self._files.resolve(link, source).ids, source)
        return None

    def _add(self, ids: tuple[str, ...], source: str) -> None:
        if source not in ids[:MOST_CANDIDATES]:
            if id(ids) in self._taken:
                return
            self._taken[id(ids)] = ids
        for each in ids[:MOST_CANDIDATES]:
            if each != source and each not in self.found and is_note(each):
                self.found[each] = None
                self._told += len(each)
