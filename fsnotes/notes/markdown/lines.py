"""Where lines begin and end: with CRLF, CR or LF, and with nothing else."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate


def unified(text: str) -> str:
    """Return *text* for scanning: every line ends with one LF, and every character is where it was.

    A CRLF becomes a space and a LF, since white space before a line's end means nothing in Markdown.
    """
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    return text


class Lines:
    """The lines of a text, counted from 1. An empty text has one line; a line's end belongs to it."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        pieces = unified(text).split("\n")
        if len(pieces) > 1 and not pieces[-1]:
            # Nothing stands behind the last line end.
            del pieces[-1]
        self._starts = list(accumulate((len(piece) + 1 for piece in pieces[:-1]), initial=0))

    def __len__(self) -> int:
        return len(self._starts)

    def start(self, line: int) -> int:
        """Return the offset of the first character of *line*. Raises IndexError where there is no such line."""
        if not 1 <= line <= len(self._starts):
            raise IndexError(line)
        return self._starts[line - 1]

    def line(self, offset: int) -> int:
        """Return the line that the character at *offset* stands on; behind the text, the last one. O(log n)."""
        return bisect_right(self._starts, offset)
