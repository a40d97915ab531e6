"""How a search by a regular expression is put to the index, and to notes that it does not know.

Apart from `asking.py`, since it loads RE2.
"""

from __future__ import annotations

from fsnotes.notes.index.combing import Combed, CombedThrough, Mark, comb, comb_through
from fsnotes.notes.index.known import Known
from fsnotes.notes.index.reader import Reader
from fsnotes.notes.index.searching import Asked
from fsnotes.notes.index_commands import SearchIndex, SearchPaths
from fsnotes.notes.patterns import pattern
from fsnotes.notes.stretches import Clock
from sandbox.root import Root


def comb_index(
    reader: Reader, root: Root, asked: Asked, command: SearchIndex, known: Known, clock: Clock
) -> Combed:
    """Find notes that the index knows. Raises what `comb` raises."""
    after = None if command.after is None else Mark.parse(command.after)
    return comb(
        reader,
        root,
        pattern(command.query),
        asked,
        limit=command.limit,
        clock=clock,
        after=after,
        known=known,
    )


def comb_paths(root: Root, asked: Asked, command: SearchPaths, clock: Clock) -> CombedThrough:
    """Look into the notes at some paths."""
    return comb_through(
        root,
        pattern(command.query),
        asked,
        command.paths,
        clock=clock,
        offset=command.within,
        most=command.limit,
    )
