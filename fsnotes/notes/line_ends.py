"""Which line end inserted text takes, and how text is compared regardless of line ends.

A line ends with CRLF, CR or LF and with nothing else. In a caller's text all three mean a line end. What is put
into a note takes that of the line before its place, else that of the line after, else the note's first, else LF.
So a note of one kind stays one; a mixed note stays mixed and is never repaired.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Final

LF: Final = b"\n"
CRLF: Final = b"\r\n"
CR: Final = b"\r"

_END: Final = re.compile(rb"\r\n|\r|\n")


def with_lf(data: bytes) -> bytes:
    """Return *data* with each line end as LF."""
    return data.replace(CRLF, LF).replace(CR, LF) if CR in data else data


class LfText:
    """A stretch of a note with LF for each line end, and where its bytes stand in the note.

    *start* and *end* must not part a CRLF.
    """

    __slots__ = ("_pairs", "_start", "data")

    def __init__(self, note: bytes, start: int = 0, end: int | None = None) -> None:
        part = note[start:end]
        self.data = with_lf(part)
        self._start = start
        # Where each CRLF ends in `data`: what lies behind stands one byte further on in the note.
        pieces = part.split(CRLF)
        del pieces[-1]
        self._pairs = list(accumulate(len(piece) + 1 for piece in pieces))

    def offset(self, at: int) -> int:
        """Return the note's offset of offset *at* in `data`; for a line end, that of its first byte."""
        return self._start + at + bisect_right(self._pairs, at)


def surrounding(data: bytes, spans: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the line end that text takes which is put in place of each of *spans*, in the order of the note.

    One pass over the note, however many there are. No span may part a CRLF.
    """
    if CR not in data:
        return [LF] * len(spans)
    first = _END.search(data)
    if first is None:
        return [LF] * len(spans)
    styles = []
    before: bytes | None = None
    position = 0
    for start, end in spans:
        last = max(data.rfind(LF, position, start), data.rfind(CR, position, start))
        if last >= 0:
            before = CRLF if data[max(0, last - 1) : last + 1] == CRLF else data[last : last + 1]
        position = start
        if before is not None:
            styles.append(before)
        else:
            # At most one span holds the first line end, so at most one search goes further.
            after = first if first.start() >= end else _END.search(data, end)
            styles.append((after or first).group())
    return styles


def adapted(text: bytes, line_end: bytes, *, following: bytes) -> bytes:
    """Return *text*, whose line ends are LF, with *line_end* for each.

    *following* is what comes after it in the note. A CR before a LF would make one line end of two, so CRLF is
    taken there: it joins with nothing on either side.
    """
    if line_end == CR and following.startswith(LF):
        line_end = CRLF
    return text if line_end == LF else text.replace(LF, line_end)


def count_ends(data: bytes) -> int:
    """Return how many line ends there are in *data*."""
    ends = data.count(LF)
    return ends + data.count(CR) - data.count(CRLF) if CR in data else ends


def line_numbers(data: bytes, offsets: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers (from 1) of the lines in which *offsets* lie, which ascend and part no CRLF."""
    steps = (count_ends(data[start:end]) for start, end in zip(chain((0,), offsets), offsets, strict=False))
    return tuple(1 + ends for ends in accumulate(steps))
