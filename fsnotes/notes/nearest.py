"""Which line of a note is nearest to a text that it does not hold: a hint, found in linear time.

The text is taken apart into words, or into scraps of long ones. The line that shares most of them is the nearest,
rare ones before common ones. It is no measure of likeness, and where nothing worth showing is shared there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sandbox.records import record

MAX_SHOWN: Final = 201
"""Most characters of a line that are returned: one more than is shown, so that a cut can be seen."""

_ANCHOR_LINES: Final = 20  # lines of the text that are looked at
_WANTED: Final = 400  # bytes of the line that is looked for
_PIECES: Final = 24
_COMMON: Final = 200  # a piece that stands on so many lines tells little
_LONG: Final = 12  # bytes; a longer word is taken apart
_LEAD: Final = 60  # bytes that are shown before what is shared, in a line that is too long to be shown

_WORD: Final = re.compile(rb"[a-z0-9_\x80-\xff]{2,}+")


@record
class Near:
    """A line (from 1 in the text that was searched), and what of it can be shown."""

    line: int
    text: str


class _Score:
    __slots__ = ("at", "best", "shared", "weight")

    def __init__(self) -> None:
        self.shared = 0  # bytes
        self.weight = self.best = 0.0
        self.at = 0  # where the piece with the best weight stands


def nearest(text: bytes, anchor: bytes) -> Near | None:
    """Return the line of *text* that is nearest to *anchor*; to its first line that is missing, if there are several.

    Both have LF for their line ends. Letters are compared without regard to their case in ASCII.
    """
    wanted = _wanted(text, anchor)
    lowered = text.lower()
    for pieces in (_words(wanted), _scraps(wanted, 3, 1)):
        at = _best(lowered, _some(pieces))
        if at is not None:
            return line_at(text, at)
    return None


def line_at(text: bytes, at: int) -> Near:
    """Return the line of *text* in which offset *at* lies; of one that is too long, the part around it."""
    start = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    end = len(text) if end < 0 else end
    if end - start > MAX_SHOWN:
        start = max(start, at - _LEAD)
        end = min(end, start + 4 * MAX_SHOWN)  # no character is longer than four bytes
    # What is cut off may leave parts of a character.
    shown = text[start:end].decode("utf-8", "ignore")[:MAX_SHOWN]
    return Near(1 + text.count(b"\n", 0, start), shown)


def _wanted(text: bytes, anchor: bytes) -> bytes:
    """Return the first line of *anchor* that *text* does not hold; else its first line with anything in it."""
    first = anchor.split(b"\n", _ANCHOR_LINES)[:_ANCHOR_LINES]
    lines = [line for line in (each.strip()[:_WANTED] for each in first) if line]
    missing = (line for line in lines if line not in text)
    return next(missing, lines[0] if lines else b"").lower()


def _words(wanted: bytes) -> list[bytes]:
    return [piece for word in _WORD.findall(wanted) for piece in _parts(word)]


def _parts(word: bytes) -> Iterator[bytes]:
    return iter((word,)) if len(word) <= _LONG else _scraps(word, 6, 3)


def _scraps(word: bytes, size: int, step: int) -> Iterator[bytes]:
    return (word[at : at + size] for at in range(0, max(1, len(word) - size + 1), step))


def _some(pieces: list[bytes] | Iterator[bytes]) -> list[bytes]:
    """Return at most _PIECES of *pieces*, each once, from all over."""
    distinct = list(dict.fromkeys(piece for piece in pieces if piece.strip()))
    step = max(1, -(-len(distinct) // _PIECES))
    return distinct[::step]


def _best(text: bytes, pieces: list[bytes]) -> int | None:
    """Return an offset in the line of *text* that shares most of *pieces*, if any shares a quarter of them."""
    scores: dict[int, _Score] = {}
    for piece in pieces:
        hits = list(_hits(text, piece))
        weight = len(piece) * (0.1 if len(hits) == _COMMON else 1.0 + 1.0 / (1 + len(hits)))
        for start, at in hits:
            score = scores.setdefault(start, _Score())
            score.shared += len(piece)
            score.weight += weight
            if weight > score.best:
                score.best, score.at = weight, at
    if not scores:
        return None
    # Of equals the first one.
    best = scores[max(scores, key=lambda start: (scores[start].weight, -start))]
    return best.at if 4 * best.shared >= sum(map(len, pieces)) else None


def _hits(text: bytes, piece: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start of each line that holds *piece*, and where it stands there first; at most _COMMON of them."""
    position = 0  # always the start of a line, so that no byte is looked at twice
    for _ in range(_COMMON):
        at = text.find(piece, position)
        if at < 0:
            return
        yield text.rfind(b"\n", position, at) + 1 or position, at
        position = text.find(b"\n", at) + 1
        if not position:
            return
