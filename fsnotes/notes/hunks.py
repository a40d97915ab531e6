"""Which whole lines of a note change, and which of them are shown together.

Lines are git's: they end with LF and with nothing else. How they are shown is decided in `diffs.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fsnotes.notes.splices import Splice, apply
from sandbox.records import record

CONTEXT: Final = 3
"""Lines that are shown around a change."""

LF: Final = b"\n"


@record
class Block:
    """Whole lines of the note, from *start* to *end*, and the lines that take their place. They differ at both ends.

    *splices* is how many changes they hold.
    """

    start: int
    end: int
    old: list[bytes]
    new: list[bytes]
    splices: int


def blocks(data: bytes, splices: Sequence[Splice]) -> Iterator[Block]:
    """Yield the lines that change, in order and apart from each other."""
    start = end = -1
    pending: list[Splice] = []
    for splice in splices:
        # Behind a last line without an end nothing begins a line of its own.
        if pending and end <= splice.start < len(data):
            yield from _block(data, start, end, pending)
            pending = []
        if not pending:
            start = data.rfind(LF, max(0, end), splice.start) + 1 or max(0, end)
            end = start
        if splice.end >= end:
            # A line that is touched only where it begins belongs too: what comes before it may not end a line.
            found = data.find(LF, splice.end)
            end = len(data) if found < 0 else found + 1
        pending.append(splice)
    if pending:
        yield from _block(data, start, end, pending)


def _block(data: bytes, start: int, end: int, splices: Sequence[Splice]) -> Iterator[Block]:
    moved = [Splice(each.start - start, each.end - start, each.replacement) for each in splices]
    before = data[start:end]
    old, new = lines_of(before), lines_of(apply(before, moved))
    head = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        head += 1
    tail = 0
    for one, other in zip(reversed(old[head:]), reversed(new[head:]), strict=False):
        if one != other:
            break
        tail += 1
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    if gone or come:
        start += sum(map(len, old[:head]))
        yield Block(start, start + sum(map(len, gone)), gone, come, len(splices))


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of *data* with their ends; the last one may have none."""
    lines = data.split(LF)
    last = lines.pop()
    return [line + LF for line in lines] + ([last] if last else [])


def hunks(data: bytes, changes: Iterator[Block]) -> Iterator[list[Block]]:
    """Yield the blocks whose context would touch or overlap together."""
    hunk: list[Block] = []
    for block in changes:
        if hunk and data.count(LF, hunk[-1].end, block.start) > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def above(data: bytes, at: int) -> list[bytes]:
    """Return the lines of context before offset *at*, where a line begins."""
    start = at
    for _ in range(CONTEXT):
        if start:
            start = data.rfind(LF, 0, start - 1) + 1
    return lines_of(data[start:at])


def below(data: bytes, at: int) -> list[bytes]:
    """Return the lines of context from offset *at* on, where a line begins."""
    end = at
    for _ in range(CONTEXT):
        found = data.find(LF, end)
        end = len(data) if found < 0 else found + 1
    return lines_of(data[at:end])
