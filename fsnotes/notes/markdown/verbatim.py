"""Code, HTML, blocks of math and comments: what opens and what ends a block in which nothing is markup.

Fences, indented code and HTML follow CommonMark. A `$$` or a `%%` that begins a line and is closed on a later one
makes a block too. If it stands alone on its line, it may interrupt a paragraph, and blank lines may come before its
end. Math with text behind its `$$` ends before a blank line, or is none. What follows the closing mark on its line is
a paragraph. If nothing closes it, it is text.

At the top of a document all of a block is found at once, by a search for its end; in a container it is taken line by
line, since it ends with its container.
"""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes.markdown import html
from fsnotes.notes.markdown.blocks import Kind, Verbatim
from fsnotes.notes.markdown.leaves import FENCE, HTML, INDENTED, MARKED, PARAGRAPH, Leaves

FENCE_OPENING: Final = re.compile(r"(?:`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)")
_FENCE_RUN: Final = re.compile(r"`++|~++")
_BLANK_REST: Final = re.compile(r"[ \t]*+(?:\n|\Z)")
_INDENTED_LINES: Final = re.compile(r"(?:(?: {4}| {0,3}\t)[^\n]*+(?:\n|\Z)|[ \t]*+\n)*+")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*+(?=\n|\Z)")


class VerbatimLeaves(Leaves):
    """Leaf blocks, those that are verbatim included. Each method that takes lines returns where the next begins."""

    __slots__ = ("closer",)

    def __init__(self, text: str, start: int) -> None:
        super().__init__(text, start)
        self.closer = html.BLANK
        """What ends the open HTML block."""

    def open_indented(self, position: int, at: int, eol: int) -> int:
        """Take the line as the first one of indented code."""
        self._open(INDENTED, position, at)
        if self.stack:
            return eol + 1
        lines = _INDENTED_LINES.match(self.blocks.text, position)
        return self._end(eol + 1 if lines is None else lines.end())

    def open_fence(self, fence: str, position: int, at: int, eol: int) -> int:
        """Take the line as one that opens fenced code."""
        if self.stack:
            self._open(FENCE, position, at)
            self.mark = fence
            return eol + 1
        end = _fence_end(self.blocks.text, fence, eol)
        self.blocks.verbatim.append(Verbatim(Kind.FENCED, position, end))
        return end

    def open_html(self, closer: re.Pattern[str], position: int, at: int, eol: int) -> int:
        """Take the line as one that opens a block of HTML."""
        text = self.blocks.text
        self._open(HTML, position, at)
        self.closer = closer
        if closer.search(text, at, eol):
            return self._end(eol + 1)
        if self.stack:
            return eol + 1
        if closer is html.BLANK:
            blank = _BLANK_LINE.search(text, eol)
            return self._end(len(text) if blank is None else blank.start() + 1)
        closing = closer.search(text, eol)
        return self._end(len(text) if closing is None else self.line_end(closing.end()) + 1)

    def closing_mark(self, mark: str, at: int, eol: int) -> int | None:
        """Return where the block of math or comment ends that the line opens at *at*, if it opens one."""
        text = self.blocks.text
        alone = not text[at + 2 : eol].strip(" \t")
        if (self.leaf == PARAGRAPH and not alone) or text.find(mark, at + 2, eol) >= 0:
            return None
        closing = text.find(mark, eol)
        if closing < 0 or (mark == "$$" and not alone and _BLANK_LINE.search(text, eol, closing)):
            return None
        return closing

    def open_marked(self, mark: str, position: int, at: int, eol: int, closing: int) -> int:
        """Take the line as one that opens math or a comment, which ends at *closing* if its container does not."""
        self._open(MARKED, position, at)
        self.mark = mark
        return eol + 1 if self.stack else self._end_marked(closing)

    def continue_verbatim(self, position: int, at: int, eol: int, indent: int) -> int:
        """Take a line, which *indent* columns come before, of a fence, HTML, math or a comment in a container."""
        text = self.blocks.text
        if self.leaf == HTML:
            if at == eol and self.closer is html.BLANK:
                self.end_leaf(position)
            elif self.closer.search(text, at, eol):
                self._end(eol + 1)
        elif self.leaf == FENCE:
            rest = text[at:eol].rstrip(" \t")
            if indent <= 3 and len(rest) >= len(self.mark) and not rest.strip(self.mark[0]):
                self._end(eol + 1)
        else:
            closing = text.find(self.mark, at, eol)
            if closing >= 0:
                return self._end_marked(closing)
        return eol + 1

    def _open(self, leaf: int, position: int, at: int) -> None:
        self.leaf, self.begin = leaf, at if self.stack else position

    def _end(self, end: int) -> int:
        end = min(end, len(self.blocks.text))
        self.end_leaf(end)
        return end

    def _end_marked(self, closing: int) -> int:
        text = self.blocks.text
        self.end_leaf(closing + 2)
        eol = self.line_end(closing)
        rest = text[closing + 2 : eol].lstrip(" \t")
        if rest:
            self.begin_paragraph(eol - len(rest), eol)
        return eol + 1


def _fence_end(text: str, fence: str, start: int) -> int:
    """Return the end of the line that closes the *fence* whose own line ends at *start*; the text's end without one."""
    at = text.find(fence, start)
    while at >= 0:
        if text[at - 1] == "\n" and text.startswith("\n", at + len(fence)):
            return at + len(fence) + 1
        run = _FENCE_RUN.match(text, at)
        end = at + len(fence) if run is None else run.end()
        line = text.rfind("\n", at - 4, at)
        if line >= 0 and not text[line + 1 : at].strip(" "):
            rest = _BLANK_REST.match(text, end)
            if rest is not None:
                return rest.end()
        at = text.find(fence, end)
    return len(text)
