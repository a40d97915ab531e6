"""What a move means for each note of a workspace, computed once and kept for the calls of its survey."""

from __future__ import annotations

import hashlib
import threading
from typing import Final

from fsnotes.errors import TooMuchToRelink
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.courses import Course
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.model import is_note
from fsnotes.notes.move_work import MAX_NOTE_WORK, work_of
from fsnotes.notes.relinking import Relinking
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT

MOST_CHARTS: Final = 4
"""So many surveys at once do the work of each once."""

MOST_NOTES: Final = 400_000
"""Fewer charts are kept where these are of more notes together: about 250 bytes for each of them."""

_DIGEST_BYTES: Final = 12

Order = tuple[tuple[str, str], ...]
"""All notes with their digests, by these in order: those of one folder together."""


class Chart:
    """A move with all that is needed to tell what it means for a note. Thread-safe."""

    def __init__(self, scope: Scope, made: Course, catalogue: Catalogue) -> None:
        self.key: Final = scope, made
        self.catalogue: Final = catalogue
        self.known: Final = catalogue.digest()
        self.moves: Final = made.moves(catalogue)
        self.relinking: Final = Relinking(
            self.moves,
            catalogue,
            catalogue.moved(self.moves),
            within=None if ROOT in scope.folders else self.covers,
        )
        self._mentions = (
            Mentions.of_folder(str(made.source), str(made.target), moves=self.moves, before=catalogue)
            if made.is_folder
            else Mentions.of_files(self.moves)
        )

    def covers(self, path: str) -> bool:
        """Say whether the grant covers an id."""
        return self.key[0].covers_position(tuple(path.split("/")))

    def concerns(self, path: str, data: bytes) -> tuple[int, int]:
        """Return how much work the links of the note *path* are, and how many of them the grant does not cover.

        Of a note without any to rewrite or to report that is 0. Raises TooMuchToRelink for one that may have so many
        that looking at them takes too long; beyond the grant it counts as one.
        """
        if path not in self.moves and not self._mentions.may_be_of(path, data):
            return 0, 0
        if work_of(data) > MAX_NOTE_WORK:
            if self.covers(path):
                raise TooMuchToRelink
            return 0, 1
        found = self.relinking.relinked(data, path)
        links = len(found.splices) + len(found.left_alone)
        return work_of(data, links) if links else 0, found.outside


class Charts:
    """Makes the charts of one workspace, and keeps a few for the next calls of their surveys. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        # The one that was used last comes last.
        self._kept: dict[tuple[Scope, Course], tuple[Chart, Order]] = {}

    def last(self, scope: Scope, made: Course) -> tuple[Chart, Order] | None:
        """Return what was made last of this move, if it is kept, however old: who goes on needs nothing newer."""
        with self._mutex:
            return self._used((scope, made))

    def get(self, scope: Scope, made: Course, catalogue: Catalogue) -> tuple[Chart, Order]:
        """Return the chart of a move, and all notes with their digests, by these in order."""
        with self._mutex:
            known = self._used((scope, made))
            if known is None or known[0].catalogue is not catalogue:
                known = Chart(scope, made, catalogue), self._order(catalogue)
                self._kept.pop(known[0].key, None)
                self._kept[known[0].key] = known
                self._forget()
            return known

    def _used(self, key: tuple[Scope, Course]) -> tuple[Chart, Order] | None:
        known = self._kept.pop(key, None)
        if known is not None:
            self._kept[key] = known
        return known

    def _order(self, catalogue: Catalogue) -> Order:
        """Return all notes in order, which is the same for every move among the same files."""
        for chart, order in self._kept.values():
            if chart.catalogue is catalogue:
                return order
        return _in_order(catalogue)

    def _forget(self) -> None:
        """Let go of those that were not used for the longest time, and of all but one where that is too large."""
        notes = sum(len(order) for _, order in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > MOST_CHARTS or notes > MOST_NOTES):
            _, order = self._kept.pop(next(iter(self._kept)))
            notes -= len(order)


def _in_order(catalogue: Catalogue) -> Order:
    folders: dict[str, str] = {}
    found = []
    for path in catalogue:
        folder, _, name = path.rpartition("/")
        if is_note(name):
            if folder not in folders:
                folders[folder] = _digest(folder)
            found.append((folders[folder] + _digest(name), path))
    return tuple(sorted(found))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
