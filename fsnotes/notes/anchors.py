"""Where a caller's text stands in a note: literally, but for line ends, and exactly as often as the caller expects.

Otherwise nothing is found and the refusal says what there is: how often and on which lines, or the nearest line and
why the text may have been missed. Every step is linear in the size of the note, whatever the two hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Final

from fsnotes.errors import AnchorCount, AnchorNotFound, InvalidArgument
from fsnotes.notes.bounds import MAX_EXPECTED
from fsnotes.notes.line_ends import LF, LfText, count_ends, line_numbers, with_lf
from fsnotes.notes.nearest import Near, line_at, nearest
from fsnotes.notes.texts import encoded
from sandbox.records import record

MAX_LINES: Final = 20
"""Most line numbers that a refusal gives."""


@record
class Anchors:
    """The places where an anchor stands in a stretch of a note: in *text*, *starts*, in order and apart.

    The anchor has LF for its line ends, as *text* has.
    """

    text: LfText
    anchor: bytes
    starts: tuple[int, ...]

    def spans(self, *, head: int = 0, tail: int = 0) -> list[tuple[int, int]]:
        """Return the bytes of the note at each place, but for those of the anchor's first *head* and last *tail*."""
        size = len(self.anchor)
        return [
            (self.text.offset(start + head), self.text.offset(start + size - tail)) for start in self.starts
        ]


def find(
    data: bytes, anchor: str, *, path: str, expected: int = 1, within: tuple[int, int] | None = None
) -> Anchors:
    """Return where *anchor* stands in the note *path*, or *within* some whole lines of it, *expected* times.

    A line end in the anchor is one in the note, of whichever kind; there must be one. Places are counted from the
    top and do not overlap. Raises InvalidArgument for an empty anchor or a number that cannot be expected,
    AnchorNotFound when it stands there not at all, and AnchorCount when it stands there another number of times.
    """
    wanted = with_lf(encoded(anchor, argument="oldText"))
    if not wanted:
        raise InvalidArgument("oldText", "it is empty")
    if not 1 <= expected <= MAX_EXPECTED:
        raise InvalidArgument("expectedMatches", f"it is not between 1 and {MAX_EXPECTED}")
    start, end = (0, len(data)) if within is None else within
    text = LfText(data, start, end)
    count = text.data.count(wanted)
    if count == expected:
        return Anchors(text, wanted, tuple(_places(text.data, wanted)))
    above = count_ends(data[:start])
    if count:
        places = tuple(islice(_places(text.data, wanted), MAX_LINES))
        lines = tuple(above + line for line in line_numbers(text.data, places))
        raise AnchorCount(path, count=count, expected=expected, lines=lines)
    hint, near, above = _missed(data, text.data, wanted, above=above, is_whole=(start, end) == (0, len(data)))
    raise AnchorNotFound(
        path, hint=hint, line=above + near.line if near else 0, nearest=near.text if near else ""
    )


def _places(text: bytes, wanted: bytes) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted))


# -- why it was missed -------------------------------------------------------------------------


def _missed(
    data: bytes, text: bytes, wanted: bytes, *, above: int, is_whole: bool
) -> tuple[str, Near | None, int]:
    """Return why *wanted* may not have been found, the line to look at, and how many lines are above its text."""
    if not is_whole:
        whole = with_lf(data)
        place = whole.find(wanted)
        if place >= 0:
            return "elsewhere", line_at(whole, place), 0
    if wanted.endswith(LF) and len(wanted) > 1 and text.endswith(wanted[:-1]):
        return "final line end", line_at(text, len(text) + 1 - len(wanted)), above
    near = _alike(text, wanted)
    if near is not None:
        return "Unicode form", near, above
    return "", nearest(text, wanted), above


def _alike(text: bytes, wanted: bytes) -> Near | None:
    """Return the line where *wanted* begins in *text* when both are brought to one Unicode form, if it does."""
    if text.isascii() or wanted.isascii():
        # Composing is slow, and only three odd signs (that of the kelvin is one) have ASCII as another form.
        return None
    composed = _composed(text)
    place = composed.find(_composed(wanted))
    if place < 0:
        return None
    # Line ends are in every form what they are, so a line is the same line in both.
    number = composed.count(LF, 0, place)
    return line_at(text, len(text) - len(text.split(LF, number)[-1]))


_RUN: Final = re.compile(r"(?:[\x00-\x7f]?[^\x00-\x7f]{1,16}+){1,4}")


def _composed(text: bytes) -> bytes:
    """Return *text* in NFC, but for some places in a long run without a single ASCII character.

    Composing all at once takes time that grows with the square of the longest run of accents: 20 s for 160 KB.
    """
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    return "\n".join(line if line.isascii() else _RUN.sub(_composed_run, line) for line in lines).encode(
        "utf-8", "surrogateescape"
    )


def _composed_run(run: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", run.group())
