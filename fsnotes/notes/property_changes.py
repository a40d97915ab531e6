"""What is asked of a block of properties once it is clear which pairs it concerns, and how a change of text is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from fsnotes.notes.property_reasons import NOT_AS_ASKED
from fsnotes.notes.property_values import PropertyValue
from sandbox.records import record

LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")


class Cut(NamedTuple):
    """The characters of a block from *start* to *end* give way to *text*."""

    start: int
    end: int
    text: str


@record
class Changes:
    """The values that pairs of the outermost mapping get, by index, the pairs that go, and those that come.

    A new pair is its key and its value.
    """

    assigned: Mapping[int, PropertyValue]
    removed: frozenset[int]
    added: tuple[tuple[str, PropertyValue], ...]


class CannotCut(Exception):
    """The change cannot be made by cutting alone; *why* is one of REASONS."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def joined(text: str, cuts: Iterable[Cut]) -> list[Cut]:
    """Return *cuts* in order, those that touch as one, without those that leave *text* as it is.

    Raises CannotCut on overlaps.

    Insertions at one place keep their order.
    """
    found: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.start, cut.end)):
        if text[cut.start : cut.end] == cut.text:
            continue
        if found and cut.start < found[-1].end:
            raise CannotCut(NOT_AS_ASKED)
        if found and cut.start == found[-1].end:
            last = found.pop()
            found.append(Cut(last.start, cut.end, last.text + cut.text))
        else:
            found.append(cut)
    return found


def applied(text: str, cuts: Iterable[Cut]) -> str:
    """Return *text* with *cuts*, which are in order and do not touch."""
    parts, end = [], 0
    for cut in cuts:
        parts += [text[end : cut.start], cut.text]
        end = cut.end
    return "".join([*parts, text[end:]])


def line_start(text: str, index: int) -> int:
    """Return where the line of *index* begins."""
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def next_line(text: str, index: int) -> int:
    """Return where the line behind the one of *index* begins."""
    found = LINE_BREAK.search(text, index)
    return len(text) if found is None else found.end()


def line_break_before(text: str, index: int) -> str:
    """Return the line break that ends at *index*; "" where none does."""
    if text.endswith("\r\n", 0, index):
        return "\r\n"
    return text[index - 1 : index] if text.endswith(("\r", "\n"), 0, index) else ""


def line_break_from(text: str, index: int) -> str:
    """Return the first line break from *index* on; "" where there is none."""
    found = LINE_BREAK.search(text, index)
    return "" if found is None else found.group()
