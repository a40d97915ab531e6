"""The headings of a note that open sections, by the bytes of their lines."""

from __future__ import annotations

from typing import NamedTuple

from fsnotes.notes.markdown import walk
from fsnotes.notes.texts import Offsets


class Heading(NamedTuple):
    """A heading, and where its own lines begin and end in the note's bytes."""

    level: int
    text: str
    start: int
    end: int


def headings(data: bytes) -> list[Heading]:
    """Return the headings at the top of a note, in order."""
    text = data.decode()
    byte = Offsets(text).byte
    return [
        Heading(each.level, each.text, byte(each.start), byte(each.end))
        for each in walk.headings(text)
        if not each.nested
    ]
