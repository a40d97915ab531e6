"""Which characters change when properties are set and unset in a block that is one mapping in braces, as JSON is.

A pair goes with the comma that sets it off from its neighbour. A new pair comes last, on a line of its own if the last
one has one, its key in quotes if all are. Values are such as fit between commas: no lists and mappings of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fsnotes.notes.property_changes import (
    CannotCut,
    Changes,
    Cut,
    line_break_before,
    line_start,
)
from fsnotes.notes.property_keys import written
from fsnotes.notes.property_reasons import IN_BRACES, NOT_AS_ASKED
from fsnotes.notes.property_values import STEP, Form, PropertyValue
from fsnotes.notes.yaml_layout import Layout, Pair

_COMMA: Final = re.compile(r"[ \t\r\n]*+,")


def cuts(text: str, layout: Layout, changes: Changes, *, line_break: str) -> Iterator[Cut]:
    """Yield what changes in *text*, whose outermost mapping is in braces. *line_break* is that above the block.

    Raises CannotCut for a value of several lines, and where a comment stands between pairs that must part.
    """
    flow = _Flow(text, layout, line_break)
    for index, value in changes.assigned.items():
        yield flow.assignment(layout.pairs[index], value)
    yield from flow.removals(changes.removed)
    if changes.added:
        yield flow.addition(changes)


class _Flow:
    def __init__(self, text: str, layout: Layout, line_break: str) -> None:
        self._text = text
        self._pairs = layout.pairs
        root = layout.root.start if layout.root is not None else 0
        self._begin = text.index("{", root) + 1
        self._line_break = line_break

    def assignment(self, pair: Pair, value: PropertyValue) -> Cut:
        start, end = pair.value.start, pair.value.end
        if start < end:
            return Cut(start, end, self._fitted(value))
        colon = "" if self._text[start - 1] == ":" else ":"
        return Cut(start, end, f"{colon} {self._fitted(value)}")

    def removals(self, removed: frozenset[int]) -> Iterator[Cut]:
        first = 0
        while first < len(self._pairs):
            last = first
            while last in removed:
                last += 1
            if last > first:
                yield self._run(first, last - 1)
            first = last + 1

    def _run(self, first: int, last: int) -> Cut:
        """Return the removal of the pairs from *first* to *last*, whose neighbours stay."""
        if first > 0:
            start, stop = self._end(first - 1), self._end(last)
        elif last + 1 < len(self._pairs):
            start, stop = self._pairs[0].key.start, self._pairs[last + 1].key.start
        else:
            start, stop = self._pairs[0].key.start, self._end(last)
            comma = _COMMA.match(self._text, stop)
            stop = stop if comma is None else comma.end()
        self._refuse_comments(first, last)
        return Cut(start, stop, "")

    def _refuse_comments(self, first: int, last: int) -> None:
        for before in range(max(first - 1, 0), min(last + (first == 0), len(self._pairs) - 1)):
            if "#" in self._text[self._end(before) : self._pairs[before + 1].key.start]:
                raise CannotCut(NOT_AS_ASKED)

    def addition(self, changes: Changes) -> Cut:
        kept = [index for index in range(len(self._pairs)) if index not in changes.removed]
        quoted = bool(kept) and all(self._pairs[index].key.style == '"' for index in kept)
        pairs = [
            f"{written(key, always_quoted=quoted)}: {self._fitted(value)}" for key, value in changes.added
        ]
        if not kept:
            place = self._pairs[0].key.start if self._pairs else self._begin
            return Cut(place, place, ", ".join(pairs))
        last = self._pairs[kept[-1]]
        begin = line_start(self._text, last.key.start)
        indent = self._text[begin : last.key.start]
        set_off = " "
        if begin >= self._begin and not indent.strip(" \t"):
            set_off = line_break_before(self._text, begin) + indent
        place = self._end(kept[-1])
        return Cut(place, place, "".join(f",{set_off}{pair}" for pair in pairs))

    def _end(self, index: int) -> int:
        return max(self._pairs[index].value.end, self._pairs[index].key.end)

    def _fitted(self, value: PropertyValue) -> str:
        if value.form is Form.EMPTY:
            return "null"
        if value.form is not Form.FLOW:
            raise CannotCut(IN_BRACES)
        return self._line_break.join([value.head, *(" " * 2 * STEP + line for line in value.lines)])
