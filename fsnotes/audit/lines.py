"""Decides where the lines of a file begin and end, read from either side and never more than a block at once.

A line is given as where it begins, where the next one does, and its bytes without the line feed. One that is longer
than any line of the log is given as a byte that no line is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

BLOCK_BYTES: Final = 1 << 16

MAX_LINE: Final = 1 << 20
"""Longest line that is looked at, with its line feed: twelve fields of 25,000 bytes, and as much again for spaces."""

_TOO_LONG: Final = b"\0"

Line = tuple[int, int, bytes]


def whole_lines(descriptor: int, size: int) -> int:
    """Return where the last line that has an end ends, in the first *size* bytes."""
    at = size
    while at > 0:
        start = max(0, at - BLOCK_BYTES)
        found = os.pread(descriptor, at - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


def forwards(descriptor: int, end: int, *, start: int = 0) -> Iterator[Line]:
    """Yield the lines from *start*, where one begins, to *end*; a last one without an end is left out."""
    at, rest, before = start, b"", 0
    while at < end:
        data = os.pread(descriptor, min(BLOCK_BYTES, end - at), at)
        if not data:
            return
        at += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            after = start + before + len(line) + 1
            yield start, after, line if after - start <= MAX_LINE else _TOO_LONG
            start, before = after, 0
        if len(rest) > MAX_LINE:
            before, rest = before + len(rest), b""


def backwards(descriptor: int, end: int) -> Iterator[Line]:
    """Yield the lines before *end*, where one ends, the last one first."""
    at, tail, after = end - 1, b"", end
    while at > 0:
        start = max(0, at - BLOCK_BYTES)
        data = os.pread(descriptor, at - start, start)
        if len(data) < at - start:
            return
        at = start
        head, *lines = (data + tail).split(b"\n")
        start += len(head) + 1
        starts = []
        for line in lines:
            starts.append(start)
            start += len(line) + 1
        for start, line in zip(reversed(starts), reversed(lines), strict=True):
            yield start, after, line if after - start <= MAX_LINE else _TOO_LONG
            after = start
        tail = head if len(head) <= MAX_LINE else _TOO_LONG
    if end > 0:
        yield 0, after, tail if after <= MAX_LINE else _TOO_LONG


def line_at(descriptor: int, start: int) -> bytes | None:
    """Return the bytes of the line that begins at *start*; None where it has no end yet, and may become a line."""
    line = b""
    while len(line) <= MAX_LINE:
        data = os.pread(descriptor, BLOCK_BYTES, start + len(line))
        head, feed, _ = data.partition(b"\n")
        line += head
        if feed:
            return line if len(line) < MAX_LINE else _TOO_LONG
        if not data:
            return None
    return _TOO_LONG
