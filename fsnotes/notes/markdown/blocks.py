"""What the blocks of a note are, as far as headings, links and tags depend on them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from fsnotes.notes.markdown.definitions import Definition
from fsnotes.notes.markdown.tables import Cell


class Heading(NamedTuple):
    """A heading. *text* is on one line, inline markup as written; *line* counts from 1 in the whole note.

    The heading's own lines reach from *start* to *end*; what is inside its marks, from *text_start* to *text_end*.
    A *nested* one stands in a block quote, a list item or a footnote: it is shown as a heading and opens no
    section, as in Obsidian. It starts behind the marks of what it stands in.
    """

    level: int
    text: str
    line: int
    start: int
    end: int
    text_start: int
    text_end: int
    nested: bool


class Kind(Enum):
    """What a stretch is in which nothing is markup."""

    FENCED = "fenced code"
    INDENTED = "indented code"
    HTML = "HTML"
    MATH = "math"
    COMMENT = "comment"


class Verbatim(NamedTuple):
    """A stretch in which nothing is markup, from its first line (behind the marks of what it stands in) on."""

    kind: Kind
    start: int
    end: int


Text = tuple[int, int, tuple[tuple[int, int], ...] | None]
"""Where the text of a paragraph or a heading begins and ends, and the stretches that it consists of.

These are given where its lines begin with the marks of block quotes, which they leave out.
"""


class Joined:
    """Stretches of a text put together as one, and where each of its characters stands in the other."""

    __slots__ = ("_offsets", "_parts", "text")

    def __init__(self, text: str, parts: Sequence[tuple[int, int]]) -> None:
        self.text = "".join([text[start:end] for start, end in parts])
        self._parts = parts
        self._offsets = list(accumulate((end - start for start, end in parts[:-1]), initial=0))

    def at(self, offset: int) -> int:
        """Return where the character at *offset* stands."""
        place = bisect_right(self._offsets, offset) - 1
        return self._parts[place][0] + offset - self._offsets[place]

    def end(self, offset: int) -> int:
        """Return the offset behind the character before *offset*."""
        return self.at(offset - 1) + 1

    def rest(self, offset: int) -> Text | None:
        """Return what stands from *offset* on."""
        if offset >= len(self.text):
            return None
        place = bisect_right(self._offsets, offset) - 1
        parts = ((self.at(offset), self._parts[place][1]), *self._parts[place + 1 :])
        return parts[0][0], parts[-1][1], parts if len(parts) > 1 else None


class Table(NamedTuple):
    """The rows of a table, the one of dashes left out, and the number of its columns."""

    columns: int
    rows: list[Cell]


class Blocks:
    """A note's text, *unified*, and its blocks in the order in which they end. The walk fills it."""

    __slots__ = ("definitions", "headings", "tables", "text", "texts", "verbatim")

    def __init__(self, text: str) -> None:
        self.text = text
        self.headings: list[Heading] = []
        self.texts: list[Text] = []
        self.tables: list[Table] = []
        self.verbatim: list[Verbatim] = []
        self.definitions: list[Definition] = []
