"""How a regular expression is looked for in one note after the other, in a large one piece by piece.

Apart from `searching.py`, since it loads RE2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from fsnotes.notes.index.regexes import Pattern, Unfinished, searchable
from fsnotes.notes.index.snippets import Line
from fsnotes.notes.texts import decoded
from fsnotes.notes.titles import title_of


class Expression:
    """A regular expression. Raises InvalidArgument for the argument `query`."""

    def __init__(self, query: str) -> None:
        self._pattern = pattern(query)

    def look(
        self, path: str, data: bytes, first: int, is_over: Callable[[], bool]
    ) -> tuple[str, tuple[Line, ...]] | int | None:
        """Return title and lines of the note if there is a match from the byte *first* on, else None.

        Once it *is_over*, it may be the byte to go on with instead. Raises NotText.
        """
        decoded(data, path=path)
        text = searchable(data)
        found = self._pattern.first(text, min(first, len(text)), is_over=is_over)
        if isinstance(found, Unfinished):
            return found.offset
        if found is None:
            return None
        return title_of(data, path.rpartition("/")[2]), self._pattern.lines(text, found)


@functools.lru_cache(maxsize=2)
def pattern(query: str) -> Pattern:
    """Return what finds *query*, which is asked for again and again. Raises InvalidArgument."""
    return Pattern(query)
