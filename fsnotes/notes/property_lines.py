"""Which characters change when properties are set and unset in a block of lines, `key: value` and what hangs below.

What is kept: a comment behind a value that gives way to one on the key's line, and comment lines around a pair. A list
or a mapping of lines goes with the comments in its lines. A pair that is unset takes its lines with it, and comment
lines that follow a list, a mapping or an empty value indented deeper than the keys: they belong to nothing else. A
new key comes last, behind the comments at the end of the block and before its last blank lines, unless its value would
take them for its own. Inserted lines end like the line above them.

Whether the result reads as intended is not judged here; `properties.py` does.
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
    line_break_from,
    line_start,
    next_line,
)
from fsnotes.notes.property_keys import written
from fsnotes.notes.property_reasons import NOT_AS_ASKED
from fsnotes.notes.property_values import STEP, Form, PropertyValue
from fsnotes.notes.yaml_layout import Layout, Pair

_COLON: Final = re.compile(r"[ \t]*+:")
_COMMENT: Final = re.compile(r"([ \t]*+)#")
_HEAD: Final = re.compile(r"(?:[&!]\S*+(?:[ \t]++(?=[&!|>]))?|(?!))*+(?:[|>][0-9+-]*+)?")
_BLANK: Final = re.compile(r"[ \t]*+(?=[\r\n]|\Z)")


def cuts(text: str, layout: Layout, changes: Changes, *, line_break: str) -> Iterator[Cut]:
    """Yield what changes in *text*. *line_break* is that of the line above the block.

    Raises CannotCut for a value whose place behind its key cannot be told.
    """
    block = _Block(text, layout, line_break)
    for index, pair in enumerate(layout.pairs):
        if index in changes.removed:
            yield block.removal(pair)
        elif index in changes.assigned:
            yield from block.assignment(pair, changes.assigned[index])
    if changes.added:
        yield block.addition(changes.added)


class _Block:
    def __init__(self, text: str, layout: Layout, line_break: str) -> None:
        self._text = text
        self._pairs = layout.pairs
        first = layout.pairs[0].key.start if layout.pairs else 0
        begin = line_start(text, first)
        self._depth = len(text[begin:first]) - len(text[begin:first].lstrip(" "))
        self._line_break = line_break

    # -- whole pairs ---------------------------------------------------------------------------

    def removal(self, pair: Pair) -> Cut:
        start = line_start(self._text, pair.key.start)
        place = next_line(self._text, pair.value.end)
        if pair.value.is_block or pair.value.start == pair.value.end:
            place = self._behind_comments(place, deeper_than=self._depth)
        return Cut(start, place, "")

    def addition(self, added: tuple[tuple[str, PropertyValue], ...]) -> Cut:
        last = self._pairs[-1] if self._pairs else None
        place = 0 if last is None else next_line(self._text, last.value.end)
        place = self._behind_comments(place, deeper_than=-1)
        if added[-1][1].takes_blanks and not self._text[place:].strip(" \t\r\n"):
            place = len(self._text)
        end = line_break_before(self._text, place) or self._line_break
        lines: list[str] = []
        for key, value in added:
            lines.append(f"{' ' * self._depth}{written(key)}:{' ' * bool(value.head)}{value.head}")
            lines += self._indented(value, None)
        return Cut(place, place, "".join(line + end for line in lines))

    def _behind_comments(self, place: int, *, deeper_than: int) -> int:
        """Return where the last comment line from *place* on ends; blank lines among comments are passed over."""
        at = place
        while at < len(self._text):
            comment = _COMMENT.match(self._text, at)
            if comment is not None and len(comment.group(1)) > deeper_than:
                place = at = next_line(self._text, at)
            elif comment is None and _BLANK.match(self._text, at):
                at = next_line(self._text, at)
            else:
                break
        return place

    # -- values --------------------------------------------------------------------------------

    def assignment(self, pair: Pair, value: PropertyValue) -> Iterator[Cut]:
        end = line_break_from(self._text, pair.key.end) or self._line_break
        lines = self._indented(value, pair)
        head = value.head
        if value.form is Form.FLOW:
            head, lines = end.join([head, *lines]), []
        start, stop, body_start, body_stop = self._places(pair)
        if start < stop:
            yield self._instead(pair, start, stop, head)
        elif head:
            yield Cut(start, start, " " + head)
        if value.form is Form.BLOCK_SCALAR and not self._text[start:body_start].strip(" \t\r\n"):
            body_start = min(body_start, next_line(self._text, start))  # blank lines would become its text
        if lines and body_start < body_stop:
            kept = len(line_break_before(self._text, body_stop))
            yield Cut(body_start, body_stop - kept, end.join(lines))
        else:
            yield Cut(body_start, body_stop, "".join(line + end for line in lines))

    def _places(self, pair: Pair) -> tuple[int, int, int, int]:
        """Return from where to where the value stands behind its key, and from where to where in lines of its own."""
        text, value = self._text, pair.value
        below = next_line(text, value.end)
        if value.is_block:
            begin = line_start(text, value.start)
            if begin > pair.key.start:
                colon = self._behind_colon(pair)
                return colon, colon, begin, below
        if value.is_block or value.is_block_scalar:
            # A tag, an anchor or a header behind the key; what stands there may have a comment.
            head = _HEAD.match(text, value.start)
            stop = value.start if head is None else head.end()
            return value.start, stop, next_line(text, stop), below
        return value.start, value.end, below, below

    def _instead(self, pair: Pair, start: int, stop: int, head: str) -> Cut:
        if head:
            return Cut(start, stop, head)
        begin = line_start(self._text, start)
        if begin <= pair.key.start:
            return Cut(self._behind_colon(pair), stop, "")
        before = self._text[begin:start].strip(" \t")
        if before == ":":  # of an explicit key
            return Cut(self._text.index(":", begin) + 1, stop, "")
        if not before and _BLANK.match(self._text, stop):
            return Cut(begin, next_line(self._text, stop), "")
        return Cut(start, stop, "")

    def _behind_colon(self, pair: Pair) -> int:
        colon = _COLON.match(self._text, pair.key.end)
        if colon is None:
            raise CannotCut(NOT_AS_ASKED)
        return colon.end()

    # -- lines below a key ---------------------------------------------------------------------

    def _indented(self, value: PropertyValue, pair: Pair | None) -> list[str]:
        indent = " " * self._depth_below(value, pair)
        return [indent + line if line else "" for line in value.lines]

    def _depth_below(self, value: PropertyValue, pair: Pair | None) -> int:
        """Return how deep the lines of *value* stand, which takes the place of *pair*'s."""
        if value.form.is_collection:
            style = "-" if value.form is Form.SEQUENCE else ":"
            depth = self._depth_of(pair, style) if pair is not None else None
            if depth is None:
                depth = self._habit(style)
            if depth is not None:
                return depth
        return self._depth + (value.step or STEP)

    def _habit(self, style: str) -> int | None:
        """Return how deep the first value of that style in the block stands."""
        return next(
            (depth for pair in self._pairs if (depth := self._depth_of(pair, style)) is not None), None
        )

    def _depth_of(self, pair: Pair, style: str) -> int | None:
        if pair.value.style != style:
            return None
        before = self._text[line_start(self._text, pair.value.start) : pair.value.start]
        return None if before.strip(" ") else len(before)
