"""Which lines at the start of a paragraph are link reference definitions: `[label]: destination "title"`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from fsnotes.notes.markdown.destinations import TITLE, destination

LABEL: Final = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.DOTALL)
"""A link label, which may be empty."""
_GAP: Final = re.compile(r"[ \t]*+(?:\n[ \t]*+)?")
_LINE_END: Final = re.compile(r"[ \t]*+(?:\n|\Z)")


class Definition(NamedTuple):
    """Where a definition stands, its title included, and its destination, angle brackets left out.

    *label* is in the form in which labels are compared.
    """

    label: str
    start: int
    end: int
    destination_start: int
    destination_end: int


def label_key(label: str) -> str:
    """Return the form in which labels are compared."""
    return " ".join(label.split()).casefold()


def definitions(text: str, start: int, end: int) -> tuple[list[Definition], int]:
    """Return the definitions at the start of the paragraph from *start* to *end*, and where the rest begins."""
    found = []
    position = start
    while position < end:
        following = _definition(text, position, end)
        if following is None:
            break
        definition, position = following
        found.append(definition)
    return found, position


def _definition(text: str, start: int, end: int) -> tuple[Definition, int] | None:
    """Return the definition at *start*, and where the line begins that follows it."""
    start = _after(_GAP, text, start, end)
    label = LABEL.match(text, start, end)
    if label is None or not text.startswith(":", label.end(), end):
        return None
    key = label_key(label.group(1))
    first = _after(_GAP, text, label.end() + 1, end)
    written = destination(text, first, end)
    if not key or written is None or written[2] == first:
        return None
    begin, stop, position = written
    # The title is optional, and so is the line that it stands on when that turns out to hold something else.
    gap = _after(_GAP, text, position, end)
    title = TITLE.match(text, gap, end) if gap > position else None
    for last in (position,) if title is None else (title.end(), position):
        line_end = _LINE_END.match(text, last, end)
        if line_end is not None:
            return Definition(key, start, last, begin, stop), line_end.end()
    return None


def _after(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    # The pattern matches the empty text, so there is always a match.
    found = pattern.match(text, start, end)
    return start if found is None else found.end()
