"""The ids that the index knows, read and folded a stretch at a time, and kept until anything is committed.

What is done with them is left to `known_paths.py`.
"""

from __future__ import annotations

import itertools
import threading
import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from fsnotes.notes.completing import Entry, folded_ids
from sandbox.names import RelPath

if TYPE_CHECKING:
    from fsnotes.notes.id_chart import IdChart
    from fsnotes.notes.index.reader import View

STRETCH: Final = 5_000
"""How many ids one call reads: some 20 ms."""

MOST_CHARTED: Final = 150_000
"""How many ids are kept: each takes some 300 bytes of a worker's memory. Where there are more, all are read anew."""

MOST_CHARACTERS: Final = 12_000_000
"""How many characters of ids are kept: each is there four times while the chart is drawn, in up to four bytes."""

_PATHS: Final = "SELECT id, path FROM docs WHERE id > ? ORDER BY id LIMIT ?"
_RANGE: Final = "FROM docs WHERE path > ? AND path < ?"
_IN_RANGE: Final = f"SELECT path {_RANGE} ORDER BY path LIMIT ? OFFSET ?"
_COUNT: Final = f"SELECT count(*) {_RANGE}"

Version = tuple[int, int]
_Stretch = tuple[list[Entry], int | None]
Drawing = Callable[[Iterable[Entry]], "IdChart"]
"""What loads RE2 is left to who needs a chart."""


def ids_in(view: View, folders: Iterable[RelPath], after: int) -> _Stretch:
    """Return ids beneath *folders*, which do not lie within each other, behind the first *after* of them.

    With the number behind which the next ones are. A folder is looked for as it is written, in NFC and in NFD.
    """
    found: list[str] = []
    skipped = after
    for low, high in _ranges(folders):
        rows = view.rows(_IN_RANGE, low, high, STRETCH - len(found), skipped)
        # What this folder has of those that are passed is known by counting them, unless some are left.
        skipped = 0 if rows else max(0, skipped - view.number(_COUNT, low, high))
        found += [path for (path,) in rows]
        if len(found) == STRETCH:
            return folded_ids(found), after + STRETCH
    return folded_ids(found), None


def _ranges(folders: Iterable[RelPath]) -> list[tuple[str, str]]:
    """Return between which texts the ids beneath *folders* are."""
    names: dict[str, None] = {}
    for folder in folders:
        text = str(folder)
        names |= dict.fromkeys([text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))])
    return [(f"{name}/", f"{name}0") for name in names]  # in ASCII, the zero comes right behind the slash


class KnownIds:
    """The ids that one index has, as far as they have been read since it was changed last. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._version: Version | None = None
        self._stretches: dict[int, _Stretch] = {}
        self._count = self._characters = 0
        self._chart: IdChart | None = None

    def chart(self, version: Version) -> IdChart | None:
        """Return all of them; None as long as some have not been read."""
        with self._mutex:
            return self._chart if version == self._version else None

    def stretch(self, view: View, version: Version, after: int, *, draw: Drawing) -> _Stretch:
        """Return those behind *after*, and behind which the next ones are. Of all of them, *draw* makes the chart."""
        with self._mutex:
            if version != self._version:
                self._version, self._stretches, self._chart = version, {}, None
                self._count = self._characters = 0
            found = self._stretches.get(after)
        if found is not None:
            return found
        rows = view.rows(_PATHS, after, STRETCH)
        entries = folded_ids(path for _, path in rows)
        found = entries, rows[-1][0] if len(rows) == STRETCH else None
        with self._mutex:
            if version == self._version and self._chart is None and after not in self._stretches:
                self._count += len(entries)
                self._characters += sum(len(path) for _, path in entries)
                if self._count <= MOST_CHARTED and self._characters <= MOST_CHARACTERS:
                    self._stretches[after] = found
                    self._draw(draw)
                else:
                    self._stretches = {}
        return found

    def _draw(self, draw: Drawing) -> None:
        """Make the chart once every stretch is there."""
        stretches: list[list[Entry]] = []
        after: int | None = 0
        while after is not None:
            if after not in self._stretches:
                return
            entries, after = self._stretches[after]
            stretches.append(entries)
        self._chart = draw(itertools.chain.from_iterable(stretches))
        self._stretches = {}
