"""Paragraphs, headings and tables: what the lines of the open leaf block become when it ends.

A paragraph gives up the link reference definitions at its start. A line behind a finished definition begins
something new, as far as the definitions themselves leave no doubt: it does not continue a paragraph.
"""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes.markdown import tables
from fsnotes.notes.markdown.blocks import Blocks, Heading, Joined, Kind, Table, Text, Verbatim
from fsnotes.notes.markdown.definitions import Definition, definitions
from fsnotes.notes.markdown.lines import unified

QUOTE: Final = -1
"""A block quote in the stack of containers, where everything else is the width of its indentation."""

_MAX_TRIES: Final = 8
"""How often a paragraph is looked through for definitions before it ends; afterwards it is taken for text."""
ATX: Final = re.compile(r"(#{1,6}+)(?:[ \t]++|(?=\n)|\Z)")
# The frequent one: no mark behind the text and nothing in it that might be one.
PLAIN_ATX: Final = re.compile(r"(#{1,6}+)[ \t]++([^\n#]++)(?:\n|\Z)")


# The kinds of leaf blocks, as numbers since every line looks at them. Those from the indented code on are verbatim.
NOTHING, PARAGRAPH, TABLE, INDENTED, FENCE, HTML, MARKED = range(7)
_KINDS: Final = {INDENTED: Kind.INDENTED, FENCE: Kind.FENCED, HTML: Kind.HTML}


class Leaves:
    """The open leaf block, the containers around it, and the blocks that have ended.

    Offsets called *position* are those of a line, *at* of its text behind the marks of containers, *eol* of its end.
    """

    __slots__ = (
        "_counted", "_line", "begin", "blocks", "empty_item", "found", "leaf", "mark", "parts", "stack",
        "table", "tries",
    )  # fmt: skip

    def __init__(self, text: str, start: int) -> None:
        self.blocks = Blocks(unified(text))
        self.stack: list[int] = []
        self.empty_item = False
        """Whether the innermost item has nothing in it yet."""
        self.leaf = NOTHING
        self.begin = start
        """Where the open leaf block begins."""
        self.parts: list[tuple[int, int]] | None = None
        """The lines of a paragraph in a block quote."""
        self.table = Table(0, [])
        self.mark = ""
        """What ends the open verbatim block, if it is a fence, math or a comment."""
        self.found: Heading | None = None
        """The heading that the last line was or completed."""
        self.tries = 0
        # The number of the line that begins at an offset.
        self._line, self._counted = 1 + self.blocks.text.count("\n", 0, start), start

    def line_end(self, position: int) -> int:
        """Return where the line ends that *position* is in."""
        end = self.blocks.text.find("\n", position)
        return len(self.blocks.text) if end < 0 else end

    def close(self, matched: int, position: int) -> None:
        """End the open leaf block, and the containers that the line at *position* does not continue."""
        if self.leaf != NOTHING:
            self.end_leaf(position)
        del self.stack[matched:]
        self.empty_item = False

    def end_leaf(self, end: int) -> None:
        """End the open leaf block, which reaches to *end*."""
        leaf, self.leaf = self.leaf, NOTHING
        if leaf == PARAGRAPH:
            begin, text = self.begin, self.blocks.text
            # A task or a link, of which there are many, begins with a bracket and defines nothing.
            if self.parts is None and (text[begin] != "[" or text.find("]:", begin, end) < 0):
                self.blocks.texts.append((begin, end, None))
                return
            rest = self._without_definitions(end)
            if rest is not None:
                self.blocks.texts.append(rest)
        elif leaf == TABLE:
            self.blocks.tables.append(self.table)
        elif leaf != NOTHING:
            kind = _KINDS.get(leaf) or (Kind.MATH if self.mark == "$$" else Kind.COMMENT)
            if leaf == INDENTED:
                end = self.begin + len(self.blocks.text[self.begin : end].rstrip(" \t\n"))
                end = min(self.line_end(end) + 1, len(self.blocks.text))
            self.blocks.verbatim.append(Verbatim(kind, self.begin, end))

    # -- paragraphs and definitions --

    def begin_paragraph(self, at: int, eol: int) -> None:
        """Open a paragraph with the text from *at* to the line's end."""
        self.leaf, self.begin, self.tries = PARAGRAPH, at, 0
        self.parts = None
        if QUOTE in self.stack:
            self.parts = []
            self.continue_paragraph(at, eol)

    def continue_paragraph(self, at: int, eol: int) -> None:
        """Add a line to the paragraph."""
        if self.parts is not None:
            self.parts.append((at, min(eol + 1, len(self.blocks.text))))

    def in_text(self, position: int, at: int | None) -> bool:
        """Say whether a paragraph is open that the line at *position* can continue.

        One that is nothing but finished definitions is ended instead, unless the line begins, at *at*, like a title.
        """
        text = self.blocks.text
        if self.leaf != PARAGRAPH:
            return False
        if text[self.begin] != "[" or self.tries >= _MAX_TRIES or (at is not None and text[at] in "\"'("):
            return True
        self.tries += 1
        if self._definitions(position)[1] is not None:
            return True
        self.end_leaf(position)
        return False

    def _without_definitions(self, end: int) -> Text | None:
        """Take the definitions out of the paragraph that ends, and return what is left of it."""
        found, rest = self._definitions(end)
        self.blocks.definitions.extend(found)
        return rest

    def _definitions(self, end: int) -> tuple[list[Definition], Text | None]:
        """Return the definitions in the paragraph up to *end*, and what is left of it."""
        text, begin = self.blocks.text, self.begin
        if self.parts is None or len(self.parts) < 2:
            if self.parts:
                begin, end = self.parts[0]
            may_define = text[begin] == "[" and text.find("]:", begin, end) >= 0
            found, rest = definitions(text, begin, end) if may_define else ([], begin)
            return found, (rest, end, None) if rest < end else None
        if text[begin] != "[":
            return [], (begin, end, tuple(self.parts))
        joined = Joined(text, self.parts)
        written, rest = definitions(joined.text, 0, len(joined.text))
        found = [
            Definition(
                each.label,
                joined.at(each.start),
                joined.end(each.end),
                joined.at(each.destination_start),
                joined.end(each.destination_end),
            )
            for each in written
        ]
        return found, joined.rest(rest)

    # -- headings --

    def take_plain_atx(self, position: int, plain: re.Match[str]) -> Heading:
        """Take the line, in no container, as a plain heading."""
        inside = plain[2].rstrip(" \t")
        start = plain.start(2)
        end = start + len(inside)
        self.blocks.texts.append((start, end, None))
        level, line = plain.end(1) - position, self._line_number(position)
        return Heading(level, " ".join(inside.split()), line, position, plain.end(), start, end, nested=False)

    def take_atx(self, position: int, at: int, eol: int) -> int:
        """Take the line as a heading with `#` before it; returns where the next line begins."""
        text = self.blocks.text
        mark = ATX.match(text, at, eol)
        level, start = (len(mark.group(1)), mark.end()) if mark is not None else (1, at)
        inside = text[start:eol].rstrip(" \t")
        if inside.endswith("#"):
            unmarked = inside.rstrip("#")
            if not unmarked or unmarked[-1] in " \t":
                inside = unmarked.rstrip(" \t")
        self._heading(level, position, at, eol, (start, start + len(inside), None))
        return eol + 1

    def underline(self, level: int, position: int, eol: int) -> bool:
        """End the paragraph as a heading; say so, since it may hold nothing but definitions."""
        rest = self._without_definitions(position)
        self.leaf = NOTHING
        if rest is None:
            return False
        text, (start, end, parts) = self.blocks.text, rest
        line = text.rfind("\n", 0, start) + 1
        start = end - len(text[start:end].lstrip(" \t"))
        self._heading(level, line, start, eol, (start, end, parts))
        return True

    def _heading(self, level: int, line: int, at: int, eol: int, inside: Text) -> None:
        text = self.blocks.text
        start, stop, parts = inside
        shown = text[start:stop] if parts is None else Joined(text, parts).text
        nested = bool(self.stack)
        end = start + len(text[start:stop].rstrip(" \t\n"))
        self.found = Heading(
            level,
            " ".join(shown.split()),
            self._line_number(line),
            at if nested else line,
            min(eol + 1, len(text)),
            start,
            end,
            nested,
        )
        if start < end:
            self.blocks.texts.append(inside)

    def _line_number(self, position: int) -> int:
        """Return the number of the line that begins at *position*, behind all that were asked for before."""
        self._line += self.blocks.text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    # -- tables --

    def opens_table(self, position: int, at: int, eol: int) -> bool:
        """Say whether the line is one of dashes under a header, and then make the paragraph's last line that."""
        text = self.blocks.text
        begin, end = self.begin, position - 1
        if self.parts is not None:
            begin, end = self.parts[-1][0], self.parts[-1][1] - 1
        header = max(text.rfind("\n", begin, end) + 1, begin)
        count = tables.columns(text, (header, end), (at, eol))
        if not count:
            return False
        if self.parts is not None:
            self.parts[-1] = (begin, header)
            if begin == header:
                del self.parts[-1]
        if header > self.begin:
            self.end_leaf(header)
        self.leaf, self.table = TABLE, Table(count, [(header, end)])
        return True
