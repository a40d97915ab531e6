"""How a note's lines are walked through: which containers and leaf blocks each of them continues, ends and opens.

The rules are CommonMark's, with these differences, each of which a test names:

- `[^label]:` begins a footnote, which is a container (`containers.py`).
- Tables are GitHub's (`tables.py`): their rows are no paragraph, so nothing under them makes them a heading.
- There are blocks of math and comments (`verbatim.py`).
- A line behind a finished link reference definition does not continue a paragraph (`leaves.py`).
- Containers nest at most `MAX_NESTING` deep; what lies deeper counts as text.

Every line is looked at once, most of them only by their first characters. Frequent lines that are plain (headings,
items, rows, fences) are taken in short ways of their own, which come to what the general one comes to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fsnotes.notes.markdown import html
from fsnotes.notes.markdown.blocks import Blocks, Heading
from fsnotes.notes.markdown.containers import BREAK, CONTAINER_MARKS, MAX_NESTING, SETEXT, Containers
from fsnotes.notes.markdown.front import body_start
from fsnotes.notes.markdown.leaves import ATX, INDENTED, NOTHING, PARAGRAPH, PLAIN_ATX, QUOTE, TABLE
from fsnotes.notes.markdown.verbatim import FENCE_OPENING

# A line without indentation that does not match this begins or continues a paragraph, and does nothing else.
_OPENING: Final = (
    r"[ \t\n>|]|#{1,6}+(?:[ \t\n]|\Z)|```|~~~|[-+*](?:[ \t\n]|\Z)|-[-|:]|:-|=++[ \t]*+(?:\n|\Z)"
    r"|(?P<rule>[*_])[ \t]*+(?P=rule)[ \t]*+(?P=rule)(?:[ \t]|(?P=rule))*+(?:\n|\Z)"
    r"|[0-9]{1,9}[.)](?:[ \t\n]|\Z)|<[A-Za-z/!?]|\[\^|\$\$|%%"
)
_OPENS: Final = re.compile(_OPENING)
_NEXT_OPENING: Final = re.compile(rf"\n(?={_OPENING})")
_FIRST: Final = frozenset(" \t\n>|:=-#`~+*_0123456789<[$%")
_ITEM_MARKS: Final = frozenset("-+*0123456789")
# The frequent item: one space behind its mark, and text that opens nothing.
_ITEM: Final = rf"(?:[-+*]|([0-9]{{1,9}})[.)]) (?!{_OPENING}|\Z)"
_PLAIN_ITEM: Final = re.compile(_ITEM)
_INDENTED_ITEM: Final = re.compile(rf"( ++){_ITEM}")


def blocks(text: str, *, start: int | None = None) -> Blocks:
    """Find the blocks of a note. Its Markdown begins at *start*, which is behind the frontmatter if not given."""
    walk = _Walk(text, start)
    walk.blocks.headings.extend(walk.headings())
    return walk.blocks


def headings(text: str, *, start: int | None = None) -> Iterator[Heading]:
    """Yield the headings of a note, which is looked at no further than is asked for."""
    return _Walk(text, start).headings()


class _Walk(Containers):
    """The open blocks of a document after some of its lines.

    Each method that takes a line returns where the next one begins.
    """

    __slots__ = ("_start",)

    def __init__(self, text: str, start: int | None) -> None:
        self._start = body_start(text) if start is None else start
        super().__init__(text, self._start)

    def headings(self) -> Iterator[Heading]:
        """Walk to the end and yield the headings on the way."""
        text = self.blocks.text
        size = len(text)
        position = self._start
        opens, following, plain_item = _OPENS.match, _NEXT_OPENING.search, _PLAIN_ITEM.match
        plain_heading = PLAIN_ATX.match
        while position < size:
            first = text[position]
            if first == "\n":
                if self.stack:
                    self.take_blank(position)
                elif self.leaf != NOTHING:
                    self.end_leaf(position)
                position += 1
                continue
            if first in _ITEM_MARKS:
                item = plain_item(text, position)
                # In a paragraph a number is text, unless it is the first of its list.
                if item is not None and (self.leaf != PARAGRAPH or self.stack or first in "-+*"):
                    position = self._take_items(position, item)
                    continue
            elif first == "#":
                heading = plain_heading(text, position)
                if heading is not None:
                    if self.leaf != NOTHING or self.stack:
                        self.close(0, position)
                    yield self.take_plain_atx(position, heading)
                    position = heading.end()
                    continue
            elif first == "|" and not self.stack:
                position = self._take_rows(position)
                continue
            if first not in _FIRST or opens(text, position) is None:
                if self.stack or self.leaf > PARAGRAPH:
                    row_end = self._take_text(position)
                    if row_end:
                        position = row_end
                        continue
                elif self.leaf == NOTHING:
                    # A paragraph begins, in no container.
                    self.leaf, self.begin, self.tries, self.parts = PARAGRAPH, position, 0, None
                found = following(text, position)
                end = size if found is None else found.end()
                if self.parts is not None:
                    self.parts.append((position, end))
                position = end
            else:
                position = self._take_simple(position, first) or self._take_line(position)
                if self.found is not None:
                    yield self.found
                    self.found = None
        self.close(0, size)

    # -- the frequent lines --

    def _take_text(self, position: int) -> int:
        """Take a line that opens no block; returns 0 if it is not the row of a table, and others like it may follow."""
        if self.leaf == TABLE and not self.stack:
            eol = self.line_end(position)
            self.table.rows.append((position, eol))
            return eol + 1
        if not self.in_text(position, position):
            # Without indentation it belongs to no open container.
            self.close(0, position)
            self.begin_paragraph(position, position)
        return 0

    def _take_rows(self, position: int) -> int:
        """Take a line that begins with a bar, in no container, and with it what rows of a table are behind it."""
        text = self.blocks.text
        if self.leaf != TABLE:
            eol = self.line_end(position)
            if self.leaf == NOTHING:
                self.begin_paragraph(position, eol)
                return eol + 1
            if not self.opens_table(position, position, eol):
                return eol + 1
            position = eol + 1
        rows = self.table.rows
        while text.startswith("|", position):
            eol = text.find("\n", position)
            if eol < 0:
                eol = len(text)
            rows.append((position, eol))
            position = eol + 1
        return position

    def _take_items(self, position: int, item: re.Match[str]) -> int:
        """Take plain list items. They continue no open container, and may interrupt what stands in one."""
        if self.leaf != NOTHING:
            self.end_leaf(position)
        self.parts = None
        text, texts = self.blocks.text, self.blocks.texts
        while True:
            line, begin = position, item.end()
            eol = text.find("\n", begin)
            position = len(text) if eol < 0 else eol + 1
            another = _PLAIN_ITEM.match(text, position)
            if another is None:
                break
            item = another
            if text[begin] == "[":
                # It may define something.
                self.leaf, self.begin = PARAGRAPH, begin
                self.end_leaf(position)
            else:
                texts.append((begin, position, None))
        self.leaf, self.begin, self.tries = PARAGRAPH, begin, 0
        self.stack = [begin - line]
        self.empty_item = False
        return position

    def _take_indented_item(self, position: int, item: re.Match[str]) -> int:
        """Take a plain list item with spaces before it; returns 0 where it may be something else."""
        at, begin = item.end(1), item.end()
        indent, matched = at - position, 0
        for container in self.stack:
            if container == QUOTE or indent < container:
                break
            indent -= container
            matched += 1
        if indent > 3 or matched == MAX_NESTING:
            return 0
        # What it stands in may be code, or a paragraph that no number interrupts.
        if matched == len(self.stack) and (self.leaf > INDENTED or (self.leaf == PARAGRAPH and item[2])):
            return 0
        self.close(matched, position)
        self.stack.append(indent + begin - at)
        eol = self.line_end(begin)
        self.begin_paragraph(begin, eol)
        return eol + 1

    def _take_simple(self, position: int, first: str) -> int:
        """Take a line that begins with no container's mark, or a plain item; returns 0 for other lines."""
        text = self.blocks.text
        if first == " ":
            item = _INDENTED_ITEM.match(text, position)
            return 0 if item is None else self._take_indented_item(position, item)
        if first == "#":
            self.close(0, position)
            return self.take_atx(position, position, self.line_end(position))
        if first in "`~":
            fence = FENCE_OPENING.match(text, position)
            if fence is not None:
                self.close(0, position)
                return self.open_fence(fence.group(), position, position, self.line_end(fence.end()))
        if first in "`~<|:=$%":
            eol = self.line_end(position)
            if self.leaf > PARAGRAPH and self.stack:
                self.close(0, position)
            self.empty_item = False
            return self._take_leaf(position, position, eol, 0, 0, whole=not self.stack)
        return 0

    # -- all other lines --

    def _take_line(self, position: int) -> int:
        """Take any line, and with it what is verbatim behind it."""
        eol = self.line_end(position)
        raw = self.blocks.text[position:eol]
        # For the marks of containers, tabs count as the columns that they fill.
        line = raw.expandtabs(4) if "\t" in raw else raw
        matched, base, at = self.match_containers(line)
        whole = matched == len(self.stack)
        was_empty, self.empty_item = self.empty_item, False
        if self.leaf > INDENTED or self.leaf == TABLE:
            if not whole:
                self.close(matched, position)
                whole = True
            elif self.leaf > INDENTED:
                return self.continue_verbatim(position, position + _raw(raw, line, at), eol, at - base)
        if at == len(line):
            if not whole or self.leaf in (PARAGRAPH, TABLE):
                self.close(matched, position)
            elif was_empty:
                self.stack.pop()
            return eol + 1
        if line[at] in CONTAINER_MARKS:
            matched, base, at = self.open_containers(line, matched, base, at, position)
            if at == len(line):
                self.empty_item = self.stack[-1] != QUOTE
                return eol + 1
            whole = matched == len(self.stack)
        return self._take_leaf(position, position + _raw(raw, line, at), eol, at - base, matched, whole=whole)

    def _take_leaf(self, position: int, at: int, eol: int, indent: int, matched: int, *, whole: bool) -> int:
        """Take what is left of a line from *at* on, behind the marks of its containers.

        It is *indent* columns into the containers, of which it continues or opens *matched*: the *whole* stack, or
        not.
        """
        text = self.blocks.text
        first = text[at]
        if indent > 3:
            if self.in_text(position, at):
                self.continue_paragraph(at, eol)
            elif not (self.leaf == INDENTED and whole):
                self.close(matched, position)
                return self.open_indented(position, at, eol)
            return eol + 1
        if first == "#":
            if ATX.match(text, at, eol):
                self.close(matched, position)
                return self.take_atx(position, at, eol)
        elif first in "`~":
            fence = FENCE_OPENING.match(text, at, eol)
            if fence is not None:
                self.close(matched, position)
                return self.open_fence(fence.group(), position, at, eol)
        elif first in "=-*_|:":
            if whole and self.leaf == PARAGRAPH and first in "=-|:":
                if first in "=-" and SETEXT.match(text, at, eol):
                    if self.underline(1 if first == "=" else 2, position, eol):
                        return eol + 1
                    # There is nothing but definitions above it, which have ended.
                    return self._take_line(position)
                if first != "=" and self.opens_table(position, at, eol):
                    return eol + 1
            if first in "-*_" and BREAK.match(text, at, eol):
                self.close(matched, position)
                return eol + 1
        elif first == "<":
            kind = html.block_at(text, at, eol)
            if kind is not None and (kind.interrupts or not self.in_text(position, at)):
                self.close(matched, position)
                return self.open_html(kind.end, position, at, eol)
        elif first in "$%" and text.startswith(first, at + 1, eol):
            closing = self.closing_mark(first * 2, at, eol)
            if closing is not None:
                self.close(matched, position)
                return self.open_marked(first * 2, position, at, eol, closing)
        if self.leaf == TABLE:
            self.table.rows.append((at, eol))
        elif self.leaf == PARAGRAPH and (whole or self.in_text(position, at)):
            self.continue_paragraph(at, eol)
        else:
            self.close(matched, position)
            self.begin_paragraph(at, eol)
        return eol + 1


def _raw(raw: str, line: str, at: int) -> int:
    """Return where the character at *at* in *line*, which is no space, stands in *raw*, which has tabs in it."""
    if raw is line:
        return at
    marks = at - line.count(" ", 0, at)
    offset = 0
    for offset, character in enumerate(raw):
        if character not in " \t":
            if not marks:
                return offset
            marks -= 1
    return offset + 1
