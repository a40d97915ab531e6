"""Where a page of a search goes on, and how a cursor says it: in what the index gives, or in the walk through notes.

Which of the two is gone through is decided in `search_pages.py`.
"""

from __future__ import annotations

import json
import re
from typing import Final

from fsnotes.pages import foreign_cursor
from sandbox.records import record

_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@record
class InNotes:
    """In the walk through the workspace: behind the position *after*, or within the note there.

    With a *generation*, notes are passed by that the index of that generation knows below the id *upto*.
    """

    after: str | None = None
    within: int | None = None
    generation: str | None = None
    upto: int = 0

    def written(self) -> tuple[str, ...]:
        """Return it as the texts of a cursor."""
        place = (self.after or "", "" if self.within is None else str(self.within))
        return place if self.generation is None else (*place, self.generation, str(self.upto))


@record
class InIndex:
    """In what the index of a *generation* gives below the id *upto*, behind the *mark*, None for the beginning.

    The notes at the paths *without* were told of before. Unless it is *settled*, what the index does not know comes
    behind all that.
    """

    mark: str | None
    generation: str
    upto: int
    settled: bool
    without: tuple[str, ...]

    def written(self) -> tuple[str, ...]:
        """Return it as the texts of a cursor."""
        without = json.dumps(self.without, ensure_ascii=False, separators=(",", ":"))
        return ("", self.mark or "", self.generation, str(self.upto), "1" if self.settled else "0", without)


SearchPlace = InNotes | InIndex


def read_place(position: tuple[str, ...]) -> SearchPlace:
    """Return the place that the texts of a cursor say. Raises InvalidArgument for those of another query."""
    match position:
        case (after, ""):
            return InNotes(after)
        case (after, offset) if _NUMBER.fullmatch(offset):
            return InNotes(after, int(offset))
        case (after, "", generation, upto) if _NUMBER.fullmatch(upto):
            return InNotes(after or None, None, generation, int(upto))
        case (after, offset, generation, upto) if _NUMBER.fullmatch(offset) and _NUMBER.fullmatch(upto):
            return InNotes(after, int(offset), generation, int(upto))
        case ("", mark, generation, upto, settled, without) if _NUMBER.fullmatch(upto):
            return InIndex(mark or None, generation, int(upto), settled == "1", _paths(without))
        case _:
            raise foreign_cursor()


def _paths(text: str) -> tuple[str, ...]:
    try:
        paths = json.loads(text)
    except (ValueError, RecursionError):
        raise foreign_cursor() from None
    if type(paths) is not list or not all(type(path) is str and _is_text(path) for path in paths):
        raise foreign_cursor()
    return tuple(paths)


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
