"""How new text is fitted into a note: only what differs becomes a splice, with the line ends that are used there.

What a caller repeats from the note, to say where a change belongs, keeps its bytes; so does every line end in it,
whichever kind the caller wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fsnotes.errors import NoteTooLarge
from fsnotes.notes.line_ends import LfText, adapted, surrounding
from fsnotes.notes.splices import Splice, resulting_size

CONTINUES: Final = frozenset(range(0x80, 0xC0))
"""The bytes of UTF-8 that are not the first of a character."""


def fitted(data: bytes, start: int, end: int, text: bytes) -> tuple[Splice, ...]:
    """Return the splice that puts *text*, whose line ends are LF, in place of the bytes from *start* to *end*.

    Neither parts a CRLF. There is no splice where nothing but line ends differs.
    """
    there = LfText(data, start, end)
    if there.data == text:
        return ()
    head, tail = shared(there.data, text)
    span = (there.offset(head), there.offset(len(there.data) - tail))
    return spliced(data, [span], text[head : len(text) - tail])


def spliced(data: bytes, spans: Sequence[tuple[int, int]], text: bytes) -> tuple[Splice, ...]:
    """Return the splices that put *text*, whose line ends are LF, in place of each of *spans*."""
    made: dict[tuple[bytes, bytes], bytes] = {}  # one text for all splices that put in the same
    splices = []
    for (start, end), line_end in zip(spans, surrounding(data, spans), strict=True):
        following = data[end : end + 1]
        if (line_end, following) not in made:
            made[line_end, following] = adapted(text, line_end, following=following)
        if made[line_end, following] != data[start:end]:
            splices.append(Splice(start, end, made[line_end, following]))
    return tuple(splices)


def shared(one: bytes, other: bytes) -> tuple[int, int]:
    """Return how many bytes the two begin with alike, and how many of the rest they end with, in whole characters."""
    most = min(len(one), len(other))
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    head = low
    while head and CONTINUES.intersection((*one[head : head + 1], *other[head : head + 1])):
        head -= 1
    low, high = 0, most - head
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    tail = low
    while tail and one[len(one) - tail] in CONTINUES:
        tail -= 1
    return head, tail


def bounded(data: bytes, splices: tuple[Splice, ...], *, path: str, most: int) -> tuple[Splice, ...]:
    """Return *splices* if what they make of the note *path* has at most *most* bytes. Raises NoteTooLarge."""
    if resulting_size(data, splices) > most:
        raise NoteTooLarge(path, limit=most)
    return splices
