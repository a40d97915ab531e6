"""How a note's lines are walked through: which containers and leaf blocks each of them continues, ends and opens.

The rules are CommonMark's, with these differences, each of which a test names:

- `[^label]:` begins a footnote, which is a container as a list item is, four columns wide.
- Tables are GitHub's (`tables.py`): their rows are no paragraph, so nothing under them makes them a heading.
- There are blocks of math and comments (`verbatim.py`).
- A line behind a finished link reference definition does not continue a paragraph (`leaves.py`).
- Containers nest at most `MAX_NESTING` deep; what lies deeper counts as text.

Every line is looked at once, most of them only by their first characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fsnotes.notes.markdown import html
from fsnotes.notes.markdown.blocks import Blocks, Heading
from fsnotes.notes.markdown.front import body_start
from fsnotes.notes.markdown.leaves import ATX, HTML, INDENTED, NOTHING, PARAGRAPH, QUOTE, TABLE
from fsnotes.notes.markdown.verbatim import FENCE_OPENING, VerbatimLeaves

MAX_NESTING: Final = 100

# A line without indentation that does not match this begins or continues a paragraph, and does nothing else.
_OPENING: Final = (
    r"[ \t\n>|]|#{1,6}+(?:[ \t\n]|\Z)|```|~~~|[-+*](?:[ \t\n]|\Z)|-[-|:]|:-|=++[ \t]*+(?:\n|\Z)"
    r"|([*_])[ \t]*+\1[ \t]*+\1(?:[ \t]|\1)*+(?:\n|\Z)|[0-9]{1,9}[.)](?:[ \t\n]|\Z)|<[A-Za-z/!?]|\[\^|\$\$|%%"
)
_OPENS: Final = re.compile(_OPENING)
_NEXT_OPENING: Final = re.compile(rf"\n(?={_OPENING})")
_FIRST: Final = frozenset(" \t\n>|:=-#`~+*_0123456789<[$%")
_ITEM_MARKS: Final = frozenset("-+*0123456789")
# The frequent item: no indentation, one space, and text that opens nothing.
_PLAIN_ITEM: Final = re.compile(rf"(?:[-+*]|[0-9]{{1,9}}[.)]) (?!{_OPENING}|\Z)")

_CONTAINER_MARKS: Final = frozenset(">-+*0123456789[")
_ITEM: Final = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\s]++\]:")
_FOOTNOTE_WIDTH: Final = 4
_SETEXT: Final = re.compile(r"(?:=++|-++)[ \t]*+\Z")
_BREAK: Final = re.compile(r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")


def blocks(text: str, *, start: int | None = None) -> Blocks:
    """Find the blocks of a note. Its Markdown begins at *start*, which is behind the frontmatter if not given."""
    walk = _Walk(text, start)
    walk.blocks.headings.extend(walk.headings())
    return walk.blocks


def headings(text: str, *, start: int | None = None) -> Iterator[Heading]:
    """Yield the headings of a note, which is looked at no further than is asked for."""
    return _Walk(text, start).headings()


class _Walk(VerbatimLeaves):
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
        while position < size:
            first = text[position]
            if first in _ITEM_MARKS:
                item = plain_item(text, position)
                # In a paragraph a number is text, unless it is the first of its list.
                if item is not None and (self.leaf != PARAGRAPH or self.stack or first in "-+*"):
                    position = self._take_item(position, item.end())
                    continue
            if first == "|" and self.leaf == TABLE and not self.stack:
                position = self._take_row(position)
            elif first not in _FIRST or opens(text, position) is None:
                if self.stack or self.leaf > PARAGRAPH:
                    row_end = self._take_text(position)
                    if row_end:
                        position = row_end
                        continue
                elif self.leaf == NOTHING:
                    self.begin_paragraph(position, position)
                found = following(text, position)
                end = size if found is None else found.end()
                if self.parts is not None:
                    self.parts.append((position, end))
                position = end
            elif first == "\n":
                if self.stack:
                    self._take_blank(position)
                elif self.leaf != NOTHING:
                    self.end_leaf(position)
                position += 1
                while text.startswith("\n", position):
                    position += 1
            else:
                position = self._take_simple(position, first) or self._take_line(position)
                if self.found is not None:
                    yield self.found
                    self.found = None
        self.close(0, size)

    # -- the frequent lines, none of them indented --

    def _take_text(self, position: int) -> int:
        """Take a line that opens no block; returns 0 if it is not the row of a table, and others like it may follow."""
        if self.leaf == TABLE and not self.stack:
            return self._take_row(position)
        if not self.in_text(position, position):
            # Without indentation it belongs to no open container.
            self.close(0, position)
            self.begin_paragraph(position, position)
        return 0

    def _take_row(self, position: int) -> int:
        """Take a line as a row of the open table."""
        eol = self.blocks.text.find("\n", position)
        eol = len(self.blocks.text) if eol < 0 else eol
        self.table.rows.append((position, eol))
        return eol + 1

    def _take_blank(self, position: int) -> None:
        """Take a blank line in a container."""
        stack = self.stack
        if QUOTE in stack:
            self.close(stack.index(QUOTE), position)
        elif self.empty_item:
            # An item may begin with one blank line, not with two.
            stack.pop()
        elif self.leaf in (PARAGRAPH, TABLE) or (self.leaf == HTML and self.closer is html.BLANK):
            self.end_leaf(position)
        self.empty_item = False

    def _take_item(self, position: int, at: int) -> int:
        """Take a plain list item. It continues no open container, and may interrupt what stands in one."""
        if self.leaf != NOTHING:
            self.end_leaf(position)
        self.stack = [at - position]
        self.empty_item = False
        self.leaf, self.begin, self.tries, self.parts = PARAGRAPH, at, 0, None
        eol = self.blocks.text.find("\n", at)
        return len(self.blocks.text) if eol < 0 else eol + 1

    def _take_simple(self, position: int, first: str) -> int:
        """Take a line that begins with no container's mark; returns 0 for other lines."""
        if first == "#":
            eol = self.line_end(position)
            if self.leaf != NOTHING or self.stack:
                self.close(0, position)
            self.take_atx(position, position, eol)
            return eol + 1
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
        matched, base, at = self._match_containers(line)
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
        if line[at] in _CONTAINER_MARKS:
            matched, base, at = self._open_containers(line, matched, base, at, position)
            if at == len(line):
                self.empty_item = self.stack[-1] != QUOTE
                return eol + 1
            whole = matched == len(self.stack)
        return self._take_leaf(position, position + _raw(raw, line, at), eol, at - base, matched, whole=whole)

    def _match_containers(self, line: str) -> tuple[int, int, int]:
        """Return how many open containers the line continues, where its own indentation begins and ends."""
        base = matched = 0
        at = _indented(line, 0)
        for container in self.stack:
            if container == QUOTE:
                if at - base > 3 or line[at : at + 1] != ">":
                    break
                base, at = _after_mark(line, at)
            elif at - base >= container:
                base += container
            elif at < len(line):
                break
            matched += 1
        return matched, base, at

    def _open_containers(
        self, line: str, matched: int, base: int, at: int, position: int
    ) -> tuple[int, int, int]:
        """Open the containers that begin on this line; returns what `_match_containers` returns."""
        while at - base <= 3 and at < len(line) and matched < MAX_NESTING:
            if line[at] == ">":
                self.close(matched, position)
                self.stack.append(QUOTE)
                base, at = _after_mark(line, at)
            elif line[at] == "[":
                footnote = _FOOTNOTE.match(line, at)
                if footnote is None:
                    break
                self.close(matched, position)
                self.stack.append(_FOOTNOTE_WIDTH)
                base = at = _indented(line, footnote.end())
            else:
                item = self._item(line, at, matched, position)
                if item is None:
                    break
                self.close(matched, position)
                text = _indented(line, item.end())
                spaces = text - item.end()
                width = len(item.group()) + (spaces if 1 <= spaces <= 4 and text < len(line) else 1)
                self.stack.append(at - base + width)
                base = at + width
                at = text
            matched += 1
        return matched, base, at

    def _item(self, line: str, at: int, matched: int, position: int) -> re.Match[str] | None:
        item = _ITEM.match(line, at)
        if item is None or (line[at] in "-*" and _BREAK.match(line, at)):
            return None
        # Inside the paragraph's own container, only a list that starts at 1 and has text interrupts it.
        if self.leaf == PARAGRAPH and matched == len(self.stack):
            if line[at] == "-" and _SETEXT.match(line, at):
                return None
            weak = item.group(1) not in (None, "1") or _indented(line, item.end()) == len(line)
            if weak and self.in_text(position, None):
                return None
        return item

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
                self.take_atx(position, at, eol)
                return eol + 1
        elif first in "`~":
            fence = FENCE_OPENING.match(text, at, eol)
            if fence is not None:
                self.close(matched, position)
                return self.open_fence(fence.group(), position, at, eol)
        elif first in "=-*_|:":
            if whole and self.leaf == PARAGRAPH and first in "=-|:":
                if first in "=-" and _SETEXT.match(text, at, eol):
                    if self.underline(1 if first == "=" else 2, position, eol):
                        return eol + 1
                    # There is nothing but definitions above it, which have ended.
                    return self._take_line(position)
                if first != "=" and self.opens_table(position, at, eol):
                    return eol + 1
            if first in "-*_" and _BREAK.match(text, at, eol):
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


def _indented(line: str, start: int) -> int:
    """Return the offset of the first character from *start* on that is not a space."""
    if line[start : start + 1] != " ":
        return start
    return len(line) - len(line[start:].lstrip(" "))


def _after_mark(line: str, at: int) -> tuple[int, int]:
    """Return where the content behind a block quote's mark begins, and its first character that is not a space."""
    base = at + 2 if line[at + 1 : at + 2] == " " else at + 1
    return base, _indented(line, base)


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
