"""What one move means for each note of a workspace, computed once and kept for the calls of its survey."""

from __future__ import annotations

import hashlib
import threading
from typing import Final

from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.courses import Course
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.model import is_note
from fsnotes.notes.relinking import Relinking
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT

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
            Mentions.of_folder(str(made.source), str(made.target))
            if made.is_folder
            else Mentions.of_files(self.moves)
        )

    def covers(self, path: str) -> bool:
        """Say whether the grant covers an id."""
        return self.key[0].covers_position(tuple(path.split("/")))

    def concerns(self, path: str, data: bytes) -> tuple[bool, int]:
        """Say whether the note *path* has links to rewrite or to report, and how many that the grant does not cover."""
        if path not in self.moves and not self._mentions.may_be_in(data):
            return False, 0
        found = self.relinking.relinked(data, path)
        return bool(found.splices or found.left_alone), found.outside


class Charts:
    """Makes the charts of one workspace, and keeps the last one for the next call of the same survey. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._last: tuple[Chart, Order] | None = None

    def last(self, scope: Scope, made: Course) -> tuple[Chart, Order] | None:
        """Return what was made last if it is of this move, however old: a survey that goes on needs nothing newer."""
        with self._mutex:
            return self._last if self._last is not None and self._last[0].key == (scope, made) else None

    def get(self, scope: Scope, made: Course, catalogue: Catalogue) -> tuple[Chart, Order]:
        """Return the chart of a move, and all notes with their digests, by these in order."""
        with self._mutex:
            if (
                self._last is None
                or self._last[0].key != (scope, made)
                or self._last[0].catalogue is not catalogue
            ):
                self._last = Chart(scope, made, catalogue), _in_order(catalogue)
            return self._last


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
