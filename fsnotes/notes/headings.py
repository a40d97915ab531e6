"""Which lines of a note are headings, by CommonMark's rules for blocks, and which section each one opens.

Only headings at the top of the document count: one inside a block quote or a list item opens no section, and a
`#` inside code, HTML or frontmatter is none. The walk is linear in the size of the note: each line is looked
at once, and containers nest at most `MAX_NESTING` deep (what lies deeper counts as text).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final

from fsnotes.notes.references import definitions_end
from sandbox.records import record

MAX_NESTING: Final = 100


@record
class Heading:
    """A heading at the top of the document.

    *text* is on one line, without the marks of the heading, inline markup as written. *line* counts from 1 in
    the whole note. The heading's own lines are the bytes from *start* to *end*.
    """

    level: int
    text: str
    line: int
    start: int
    end: int


def headings(data: bytes, *, start: int = 0) -> Iterator[Heading]:
    """Walk the note from byte *start* (a line's first: where the body begins) and yield its headings in order."""
    line = len(data[:start].splitlines()) if start else 0
    walk = _Walk()
    position = start
    for raw in data[start:].splitlines(keepends=True) if start else data.splitlines(keepends=True):
        line += 1
        heading = walk.take(raw, position, line)
        position += len(raw)
        if heading is not None:
            yield heading


# -- the walk ----------------------------------------------------------------------------------

# The open leaf block. Those from the fence on hold their lines verbatim.
_NOTHING, _PARAGRAPH, _INDENTED, _FENCE, _HTML = range(5)
_QUOTE: Final = -1  # in the stack of containers, where a list item is the width of its indentation

# A line with another first byte opens no block: it continues a paragraph or begins one.
_OPENERS: Final = frozenset(b" \t\r\n#`~>-+*=_<[0123456789")

_CONTAINER_MARKS: Final = frozenset(b">-+*0123456789")
_HASH: Final = 0x23
_ATX: Final = re.compile(rb"(#{1,6}+)(?:[ \t]++|(?=[\r\n])|\Z)")
_ATX_CLOSING: Final = re.compile(rb"(?:\A|[ \t])#++\Z")
_SETEXT: Final = re.compile(rb"(?:=++|-++)[ \t]*+\Z")
_BREAK: Final = re.compile(rb"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
_ITEM: Final = re.compile(rb"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
_FENCE_OPENING: Final = re.compile(rb"(?:`{3,}+(?=[^`]*+\Z)|~{3,}+)")
_SPACES: Final = re.compile(rb" *+")

_HTML_NAMES: Final = (
    rb"address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    rb"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li"
    rb"|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td"
    rb"|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE: Final = (
    rb"(?:[ \t]++[A-Za-z_:][A-Za-z0-9_.:-]*+"
    rb"(?:[ \t]*+=[ \t]*+(?:[^ \t\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?+)"
)
_UNTIL_BLANK: Final = re.compile(rb"(?!)")  # matches nothing: only a blank line ends the block


@functools.cache
def _html_kinds() -> tuple[tuple[re.Pattern[bytes], re.Pattern[bytes], bool], ...]:
    """Return the seven kinds of HTML blocks: what opens one, what ends it, whether it may interrupt a paragraph.

    Compiled for the first note that has HTML: no other pattern here takes as long.
    """
    return (
        (
            re.compile(rb"<(?:script|pre|style|textarea)(?=[ \t>]|\Z)", re.IGNORECASE),
            re.compile(rb"</(?:script|pre|style|textarea)>", re.IGNORECASE),
            True,
        ),
        (re.compile(rb"<!--"), re.compile(rb"-->"), True),
        (re.compile(rb"<\?"), re.compile(rb"\?>"), True),
        (re.compile(rb"<![A-Za-z]"), re.compile(rb">"), True),
        (re.compile(rb"<!\[CDATA\["), re.compile(rb"\]\]>"), True),
        (re.compile(rb"</?(?:" + _HTML_NAMES + rb")(?=[ \t]|/?>|\Z)", re.IGNORECASE), _UNTIL_BLANK, True),
        (
            re.compile(
                rb"(?:<[A-Za-z][A-Za-z0-9-]*+"
                + _ATTRIBUTE
                + rb"*+[ \t]*+/?>|</[A-Za-z][A-Za-z0-9-]*+[ \t]*+>)[ \t]*+\Z"
            ),
            _UNTIL_BLANK,
            False,
        ),
    )


class _Walk:
    """The open blocks of a document after some of its lines."""

    __slots__ = ("_closer", "_empty_item", "_fence", "_leaf", "_lines", "_stack")

    def __init__(self) -> None:
        self._stack: list[int] = []
        self._leaf = _NOTHING
        self._empty_item = False  # the innermost item has nothing in it yet
        self._fence = b""  # the run of characters that opened the fence
        self._closer = _UNTIL_BLANK  # what ends the HTML block
        # The paragraph: its lines without indentation, and where they begin.
        self._lines: list[tuple[bytes, int, int]] = []

    def take(self, raw: bytes, offset: int, number: int) -> Heading | None:
        """Take the next line into account; return the heading that it is or completes."""
        first = raw[0]
        if first not in _OPENERS:
            if self._take_text(raw, offset, number):
                return None
        elif not self._stack and self._leaf >= _FENCE:
            if self._leaf == _FENCE and first not in b" `~":
                return None
        elif first == _HASH and not self._stack:
            mark = _ATX.match(raw)
            if mark is not None:
                self._leaf = _NOTHING
                return _atx(raw, mark, number, offset, offset + len(raw))
        line = raw.rstrip(b"\r\n")
        if not line.strip(b" \t"):
            self._take_blank()
            return None
        if b"\t" in line:
            # Only the white space before a block's text matters here, and no wide character stands before it.
            line = line.expandtabs(4)
        return self._take_line(line, offset, number, offset + len(raw))

    # -- the frequent lines --

    def _take_text(self, raw: bytes, offset: int, number: int) -> bool:
        """Take a line that opens no block, unless the open leaf block makes that less simple."""
        leaf = self._leaf
        if leaf == _PARAGRAPH:
            self._lines.append((raw, offset, number))
            return True
        if leaf >= _FENCE:
            return leaf == _FENCE and not self._stack
        # Without indentation it belongs to no open list item.
        self._stack.clear()
        self._empty_item = False
        self._begin_paragraph(raw, offset, number)
        return True

    def _take_blank(self) -> None:
        stack = self._stack
        if _QUOTE in stack:
            del stack[stack.index(_QUOTE) :]
            self._leaf = _NOTHING
        elif self._empty_item:
            # An item may begin with one blank line, not with two.
            stack.pop()
        elif self._leaf == _PARAGRAPH or (self._leaf == _HTML and self._closer is _UNTIL_BLANK):
            self._leaf = _NOTHING
        self._empty_item = False

    # -- all other lines --

    def _take_line(self, line: bytes, offset: int, number: int, end: int) -> Heading | None:
        if self._stack:
            matched, base, at = self._match_containers(line)
        else:
            matched, base, at = 0, 0, _indented(line, 0)
        whole = matched == len(self._stack)
        was_empty, self._empty_item = self._empty_item, False
        if self._leaf >= _FENCE:
            if whole:
                self._continue_verbatim(line, at - base, at)
                return None
            self._close(matched)
            whole = True
        if at == len(line):
            self._end_at_blank(matched, whole=whole, was_empty=was_empty)
            return None
        if line[at] in _CONTAINER_MARKS:
            matched, base, at, whole = self._open_containers(line, matched, base, at, whole=whole)
        if at == len(line):
            self._empty_item = self._stack[-1] != _QUOTE
            return None
        return self._take_leaf(line, matched, at - base, at, offset, number, end, whole=whole)

    def _match_containers(self, line: bytes) -> tuple[int, int, int]:
        """Return how many open containers the line continues, where its own indentation begins and ends."""
        base = 0
        at = _indented(line, 0)
        matched = 0
        for container in self._stack:
            if container == _QUOTE:
                if at - base > 3 or line[at : at + 1] != b">":
                    break
                base, at = _after_mark(line, at)
            elif at - base >= container:
                base += container
            elif at < len(line):
                break
            matched += 1
        return matched, base, at

    def _end_at_blank(self, matched: int, *, whole: bool, was_empty: bool) -> None:
        """End what a line ends that is blank behind the marks of block quotes."""
        if not whole or self._leaf == _PARAGRAPH:
            self._close(matched)
        elif was_empty:
            self._stack.pop()

    def _continue_verbatim(self, line: bytes, indent: int, at: int) -> None:
        if self._leaf == _HTML:
            if (at == len(line) and self._closer is _UNTIL_BLANK) or self._closer.search(line, at):
                self._leaf = _NOTHING
            return
        mark = self._fence[:1]
        rest = line[at:].rstrip(b" ")
        if indent <= 3 and len(rest) >= len(self._fence) and not rest.strip(mark):
            self._leaf = _NOTHING

    def _open_containers(
        self, line: bytes, matched: int, base: int, at: int, *, whole: bool
    ) -> tuple[int, int, int, bool]:
        """Open the block quotes and list items that begin on this line."""
        while at - base <= 3 and at < len(line) and matched < MAX_NESTING:
            if line[at] == 0x3E:  # ">"
                self._close(matched)
                self._stack.append(_QUOTE)
                base, at = _after_mark(line, at)
                if at == len(line):
                    break
            else:
                item = self._item(line, at, matched, whole=whole)
                if item is None:
                    break
                self._close(matched)
                width = len(item.group())
                text = _indented(line, item.end())
                spaces = text - item.end()
                width += spaces if 1 <= spaces <= 4 and text < len(line) else 1
                self._stack.append(at - base + width)
                base = at + width
                at = text
            matched += 1
            whole = True
        return matched, base, at, whole

    def _item(self, line: bytes, at: int, matched: int, *, whole: bool) -> re.Match[bytes] | None:
        item = _ITEM.match(line, at)
        if item is None:
            return None
        if line[at] in b"-*" and _BREAK.match(line, at):
            return None
        if self._leaf == _PARAGRAPH:
            if whole and line[at] == 0x2D and _SETEXT.match(line, at):
                return None
            # Inside the paragraph's own container, only a list that starts at 1 and has text interrupts it.
            if matched == len(self._stack) and (
                item.group(1) not in (None, b"1") or _indented(line, item.end()) == len(line)
            ):
                return None
        return item

    def _take_leaf(
        self,
        line: bytes,
        matched: int,
        indent: int,
        at: int,
        offset: int,
        number: int,
        end: int,
        *,
        whole: bool,
    ) -> Heading | None:
        """Take what is left of a line after its containers: it opens a leaf block or continues a paragraph."""
        in_paragraph = self._leaf == _PARAGRAPH
        if indent > 3:
            if in_paragraph:
                self._lines.append((line[at:], offset, number))
            else:
                self._close(matched)
                self._leaf = _INDENTED
            return None
        first = line[at]
        if first == _HASH:
            mark = _ATX.match(line, at)
            if mark is not None:
                self._close(matched)
                return None if self._stack else _atx(line, mark, number, offset, end)
        elif first in b"`~":
            fence = _FENCE_OPENING.match(line, at)
            if fence is not None:
                self._close(matched)
                self._leaf, self._fence = _FENCE, fence.group()
                return None
        elif first in b"=-*_":
            if in_paragraph and whole and first in b"=-" and _SETEXT.match(line, at):
                found = self._underlined(1 if first == 0x3D else 2, end)
                if self._leaf == _NOTHING:
                    return found
            if first != 0x3D and _BREAK.match(line, at):
                self._close(matched)
                return None
        elif first == 0x3C and self._opens_html(line, matched, at):  # "<"
            return None
        if self._leaf == _PARAGRAPH:
            self._lines.append((line[at:], offset, number))
        else:
            self._close(matched)
            self._begin_paragraph(line[at:], offset, number)
        return None

    def _opens_html(self, line: bytes, matched: int, at: int) -> bool:
        for opening, closer, interrupts in _html_kinds():
            if (interrupts or self._leaf != _PARAGRAPH) and opening.match(line, at):
                self._close(matched)
                if not closer.search(line, at):
                    self._leaf, self._closer = _HTML, closer
                return True
        return False

    def _underlined(self, level: int, end: int) -> Heading | None:
        """End the paragraph as a heading, unless it is nothing but link reference definitions.

        Then it stays open without them, and the underline is to be read as something else.
        """
        lines = self._lines
        if lines[0][0].startswith(b"["):
            text = b"\n".join(line.rstrip(b"\r\n") for line, _, _ in lines)
            consumed = definitions_end(text)
            if consumed:
                del lines[: text.count(b"\n", 0, consumed) + (consumed == len(text))]
            if not lines:
                return None
        self._leaf = _NOTHING
        if self._stack:
            return None
        _, offset, number = lines[0]
        return Heading(level, _one_line(b" ".join(line for line, _, _ in lines)), number, offset, end)

    def _begin_paragraph(self, text: bytes, offset: int, number: int) -> None:
        self._leaf = _PARAGRAPH
        self._lines = [(text, offset, number)]

    def _close(self, matched: int) -> None:
        """Close the open leaf block, and the containers that the line does not continue."""
        self._leaf = _NOTHING
        del self._stack[matched:]


def _indented(line: bytes, start: int) -> int:
    """Return the offset of the first byte from *start* on that is not a space."""
    if line[start : start + 1] != b" ":
        return start
    spaces = _SPACES.match(line, start)
    return spaces.end() if spaces is not None else start


def _after_mark(line: bytes, at: int) -> tuple[int, int]:
    """Return where the content behind a block quote's mark begins, and its first byte that is not a space."""
    base = at + 2 if line[at + 1 : at + 2] == b" " else at + 1
    return base, _indented(line, base)


def _atx(line: bytes, mark: re.Match[bytes], number: int, start: int, end: int) -> Heading:
    text = line[mark.end() :].rstrip(b" \t\r\n")
    if text.endswith(b"#"):
        text = _ATX_CLOSING.sub(b"", text)
    return Heading(mark.end(1) - mark.start(1), _one_line(text), number, start, end)


def _one_line(text: bytes) -> str:
    return b" ".join(text.split()).decode("utf-8", "replace")
