"""How a note's text is counted in lines and columns, and which part of it one answer holds.

A line ends with CRLF, CR or LF and with nothing else; the end belongs to the line. Columns are characters.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsnotes.errors import InvalidArgument
from sandbox.records import record


@record
class Part:
    """Some of a note's text. With *next_line*, the rest of what was asked for begins there at *next_column*.

    *next_column* is None where the rest begins with a whole line.
    """

    text: str
    first_line: int
    last_line: int
    next_line: int | None
    next_column: int | None


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines with their ends; joined they are the data. An empty note has one empty line."""
    # `bytes.splitlines` splits at CRLF, CR and LF only; that of `str` knows eight more.
    return data.splitlines(keepends=True) or [b""]


def count_lines(data: bytes) -> int:
    """Return the number of lines that `split_lines` would return."""
    if b"\r" in data:
        return len(split_lines(data))
    return data.count(b"\n") + (not data.endswith(b"\n"))


def cut(lines: Sequence[bytes], *, first: int, last: int, column: int, limit: int) -> Part:
    """Return lines *first* to *last* from *column* of the first one on, at most *limit* characters of them.

    The lines must be UTF-8 text. What is too long is cut after a whole line, or inside a line that is itself too
    long. All parts of a range joined are its text. Raises InvalidArgument for a column behind the line's end.
    """
    start = lines[first - 1].decode("utf-8")
    if not 1 <= column <= max(1, len(start)):
        raise InvalidArgument("startColumn", f"line {first} has {len(start)} characters")
    start = start[column - 1 :]
    limit = max(1, limit)
    if len(start) > limit:
        end = limit
        if end > 1 and start[end - 1 : end + 1] == "\r\n":
            end -= 1
        return Part(start[:end], first, first, first, column + end)
    taken = [start]
    room = limit - len(start)
    line = first
    while line < last:
        text = lines[line].decode("utf-8")
        if len(text) > room:
            return Part("".join(taken), first, line, line + 1, None)
        taken.append(text)
        room -= len(text)
        line += 1
    return Part("".join(taken), first, line, None, None)
