"""What an edit is: a few stretches of a note's bytes, each with the bytes that take its place.

Everything outside them is the same bytes afterwards, by construction. What is put in, and where, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.records import record


@record
class Splice:
    """The bytes from *start* to *end* of a note give way to *replacement*. Offsets are those of the note as it was.

    Raises ValueError for offsets that cannot be meant.
    """

    start: int
    end: int
    replacement: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError("a splice that ends before it begins")


def apply(data: bytes, splices: Sequence[Splice]) -> bytes:
    """Return *data* with all *splices* made.

    They stand in the order of the note and do not overlap; two may touch. Raises ValueError for any others.
    """
    _check(data, splices)
    pieces: list[bytes] = []
    position = 0
    for splice in splices:
        pieces += (data[position : splice.start], splice.replacement)
        position = splice.end
    pieces.append(data[position:])
    return b"".join(pieces)


def inverse(data: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return the splices that make *data* again of what `apply` makes of it. Raises what `apply` raises."""
    _check(data, splices)
    undoing = []
    shift = 0
    for splice in splices:
        start = splice.start + shift
        undoing.append(Splice(start, start + len(splice.replacement), data[splice.start : splice.end]))
        shift += len(splice.replacement) - (splice.end - splice.start)
    return tuple(undoing)


def resulting_size(data: bytes, splices: Sequence[Splice]) -> int:
    """Return how many bytes `apply` would return, without making them."""
    return len(data) + sum(len(each.replacement) - (each.end - each.start) for each in splices)


def _check(data: bytes, splices: Sequence[Splice]) -> None:
    position = 0
    for splice in splices:
        if splice.start < position:
            raise ValueError("splices that overlap or are out of order")
        position = splice.end
    if position > len(data):
        raise ValueError("a splice behind the end of the note")
