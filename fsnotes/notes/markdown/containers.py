"""Which containers a line continues and opens: block quotes, list items and footnotes.

`[^label]:` begins a footnote, which is a container as a list item is, four columns wide.
"""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes.markdown import html
from fsnotes.notes.markdown.leaves import HTML, PARAGRAPH, QUOTE, TABLE
from fsnotes.notes.markdown.verbatim import VerbatimLeaves

MAX_NESTING: Final = 100
CONTAINER_MARKS: Final = frozenset(">-+*0123456789[")
_ITEM: Final = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\s]++\]:")
_FOOTNOTE_WIDTH: Final = 4
SETEXT: Final = re.compile(r"(?:=++|-++)[ \t]*+\Z")
BREAK: Final = re.compile(r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")


class Containers(VerbatimLeaves):
    """The open containers. In a *line*, tabs have become the columns that they fill."""

    __slots__ = ()

    def take_blank(self, position: int) -> None:
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

    def match_containers(self, line: str) -> tuple[int, int, int]:
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

    def open_containers(
        self, line: str, matched: int, base: int, at: int, position: int
    ) -> tuple[int, int, int]:
        """Open the containers that begin on this line; returns what `match_containers` returns."""
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
        if item is None or (line[at] in "-*" and BREAK.match(line, at)):
            return None
        # Inside the paragraph's own container, only a list that starts at 1 and has text interrupts it.
        if self.leaf == PARAGRAPH and matched == len(self.stack):
            if line[at] == "-" and SETEXT.match(line, at):
                return None
            weak = item.group(1) not in (None, "1") or _indented(line, item.end()) == len(line)
            if weak and self.in_text(position, None):
                return None
        return item


def _indented(line: str, start: int) -> int:
    """Return the offset of the first character from *start* on that is not a space."""
    if line[start : start + 1] != " ":
        return start
    return len(line) - len(line[start:].lstrip(" "))


def _after_mark(line: str, at: int) -> tuple[int, int]:
    """Return where the content behind a block quote's mark begins, and its first character that is not a space."""
    base = at + 2 if line[at + 1 : at + 2] == " " else at + 1
    return base, _indented(line, base)
