"""Which notes the index knows as they are: what it says of them can be told, and the others have to be looked into.

A search that cannot wait for the index takes from it what it knows, and looks into the rest. Both sides ask here, so
that each note is on one of them: the index knows a note if file, size and time are those that it was read with, if
nobody can have written it since within the same tick, and if it is text. An id below a bound says that it was there
when the search began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from fsnotes.errors import IndexUnusable
from fsnotes.notes.index.reader import Reader, View, standing
from fsnotes.notes.index.rows import DIRECTLY_IN, Stat, within
from sandbox.root import Numbers

_MOST: Final = 500
"""How many paths one statement compares with."""

NEXT_ID: Final = "SELECT next FROM meta"


class Known(NamedTuple):
    """Which notes of the index count: ids below *upto*, None for all, and none at the paths *without*.

    Unless *settled*, only notes that are still as the index knows them.
    """

    upto: int | None = None
    without: frozenset[str] = frozenset()
    settled: bool = True

    def has(self, number: int, path: str) -> bool:
        """Say whether the note with this id, at this path, is one of them as far as the index can tell."""
        return (self.upto is None or number < self.upto) and path not in self.without

    def stat(self, sure: int, numbers: Iterable[int]) -> Stat | None:
        """Return by what a file is known, None if it is not: see *sure* above."""
        return Stat(*numbers) if sure and (self.upto is None or sure < self.upto) else None


def unknown(
    reader: Reader, notes: Iterable[tuple[str, Stat]], *, generation: str, upto: int
) -> frozenset[str]:
    """Return the paths of those *notes* that the index of this *generation* does not know below *upto*.

    Raises IndexUnusable, for another generation too.
    """
    asked = dict(notes)
    with _view_of(reader, generation) as view:
        for known in _known(view, asked, below=upto):
            for path in known.values():
                del asked[path]
    return frozenset(asked)


def known_in(
    reader: Reader, folder: str, first: str, last: str, *, generation: str, upto: int
) -> dict[str, Numbers]:
    """Return the numbers of the notes that `unknown` would leave out, by their names: those directly in a *folder*.

    Their names are from *first* to *last*. Raises what `unknown` raises.
    """
    with _view_of(reader, generation) as view:
        return {
            name: (ino, size, mtime)
            for name, ino, size, mtime in view.rows(_IN_FOLDER, *within(folder, first, last), upto, upto)
        }


_IN_FOLDER: Final = f"""
    SELECT substr(path, ?1), ino, size, mtime FROM docs
    WHERE {DIRECTLY_IN} AND sure AND reason IS NULL AND id < ?4 AND sure < ?5
"""  # noqa: S608 - ours


MOST_TAGS: Final = 5_000
"""How many uses of tags are told of at once."""


Use = tuple[str, str, int]
"""A tag's key, its spelling, and how often it is used."""


def tags_known(reader: Reader, notes: Iterable[tuple[str, Stat]], *, prefix: str) -> dict[str, list[Use]]:
    """Return the tags of those *notes* that the index knows, by their paths, as far as they begin with *prefix*.

    Of more than MOST_TAGS together, none are known. Raises IndexUnusable.
    """
    uses: dict[str, list[Use]] = {}
    with reader.view() as view:
        for known in _known(view, dict(notes)):
            places = ", ".join("?" * len(known))
            rows = view.rows(_TAGS.format(places), *known, MOST_TAGS + 1)
            if len(rows) > MOST_TAGS:
                continue
            uses |= {path: [] for path in known.values()}
            for number, key, name, count in rows:
                if key.startswith(prefix):
                    uses[known[number]].append((key, name or key, count))
    return uses


_TAGS: Final = "SELECT doc, tag, name, uses FROM tags WHERE doc IN ({}) LIMIT ?"


_HAVING: Final = {
    "links": "SELECT doc FROM links WHERE stem = ? AND doc IN ({})",
    "tags": "SELECT doc FROM tags WHERE tag = ? AND doc IN ({})",
}


def may_have(reader: Reader, notes: Iterable[tuple[str, Stat]], *, table: str, key: str) -> frozenset[str]:
    """Return the paths of those *notes* that may have a link to the name *key*, or the tag, by the *table* asked for.

    These are those that the index says have it, and those that it does not know. Raises IndexUnusable.
    """
    asked = dict(notes)
    with reader.view() as view:
        for known in _known(view, asked):
            places = ", ".join("?" * len(known))
            having = {number for (number,) in view.rows(_HAVING[table].format(places), key, *known)}
            for number in known.keys() - having:
                del asked[known[number]]
    return frozenset(asked)


@contextmanager
def _view_of(reader: Reader, generation: str) -> Iterator[View]:
    """Give one state of the index of a *generation*. Raises IndexUnusable for another one too."""
    with reader.view() as view:
        if standing(view).generation != generation:
            raise IndexUnusable("the search index was made anew")
        yield view


def _known(view: View, asked: dict[str, Stat], *, below: int | None = None) -> Iterator[dict[int, str]]:
    """Yield, of some notes after the other, the paths by their ids of those that the index knows, *below* an id.

    Those that were given may be taken out of *asked* meanwhile.
    """
    paths = list(asked)
    bounds = Known(below)
    for start in range(0, len(paths), _MOST):
        yield {
            number: path
            for path, number, sure, *numbers in _docs(view, paths[start : start + _MOST])
            if bounds.has(number, path) and bounds.stat(sure, numbers) == asked[path]
        }


def _docs(view: View, paths: list[str]) -> list[tuple[Any, ...]]:
    places = ", ".join("?" * len(paths))
    return view.rows(
        f"SELECT path, id, sure, ino, size, mtime FROM docs WHERE sure AND reason IS NULL AND path IN ({places})",  # noqa: S608 - question marks
        *paths,
    )
