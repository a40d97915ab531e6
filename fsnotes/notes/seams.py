"""Where inserted text meets the lines around it: lines of its own, blank lines, and the heading that may follow.

Markdown joins more than bytes do: a paragraph and a heading that is underlined on its next line are one heading, so
text that is put directly above such a heading would become part of it. That case alone is judged here. What
else the text means beside its neighbours (a list that goes on, a paragraph that grows) is the caller's choice.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from fsnotes.notes.frontmatter import BOM
from sandbox.records import record

_BLANK_LINES: Final = re.compile(rb"(?:[ \t]*+(?:\r\n|\r|\n)|(?!))*+")
_LINE_END: Final = re.compile(rb"\r\n|\r|\n|\Z")
_LINE: Final = re.compile(rb"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")

_MAX_LINES: Final = 1_000  # of text that is underlined as a heading
_UNDERLINE: Final = re.compile(rb" {0,3}(?:=++|-++)[ \t]*+\Z")
# What ends a paragraph: a blank line, or another block that may interrupt it. HTML that may is not told apart.
_INTERRUPTION: Final = re.compile(
    rb"[ \t]*+\Z"
    rb"| {0,3}(?:#{1,6}(?:[ \t]|\Z)|>|```[^`]*+\Z|~~~|(?:[-+*]|0{0,8}1[.)])[ \t]++[^ \t]"
    rb"|(?:\*[ \t]*+){3,}+\Z|(?:_[ \t]*+){3,}+\Z|(?:-[ \t]*+){3,}+\Z)"
)


@record
class Core:
    """The part of a stretch that is not blank.

    From *start*, where its first line begins, to *end*, where the text of its last line ends. *rest* is where the
    line after it begins: equal to *end* when the last line has no end.
    """

    start: int
    end: int
    rest: int


def core(data: bytes, start: int, end: int) -> Core | None:
    """Return the part of the whole lines from *start* to *end* without the blank lines around it, if there is one."""
    filled = len(data[start:end].rstrip(b" \t\r\n"))
    if not filled:
        return None
    # SAFETY: both patterns match wherever they begin, if only nothing.
    first = _BLANK_LINES.match(data, start, end)
    last = _LINE_END.search(data, start + filled, end)
    if first is None or last is None:
        raise ValueError("a stretch outside the note")
    return Core(first.end(), last.start(), last.end())


def note_start(data: bytes) -> int:
    """Return where a note's text begins: after the byte order mark, which never moves."""
    return len(BOM) if data.startswith(BOM) else 0


def without_bom(text: bytes) -> bytes:
    """Return *text* without the mark that it begins with: for text that is put where a note begins.

    Whether a note has a mark stays as it is; it never gets one, nor a second one.
    """
    return text.removeprefix(BOM)


def begins_line(data: bytes, at: int) -> bool:
    """Say whether a line begins at offset *at*."""
    return at <= note_start(data) or data[at - 1 : at] in (b"\n", b"\r")


def draws_in(data: bytes, at: int) -> bool:
    """Say whether text that ends a line at offset *at*, where a line begins, would become part of a heading.

    So it is where the lines that follow are underlined before a blank line or another block ends the paragraph. Told
    from these lines alone, at most a thousand of them: where the text ends with another block than a paragraph, or
    where HTML follows, the answer may be yes and nothing be drawn in.
    """
    for match in islice(_LINE.finditer(data, at), _MAX_LINES):
        line = match.group(1)
        if _UNDERLINE.match(line):
            return True
        if _INTERRUPTION.match(line):
            return False
    return False


def ends_blank(text: bytes) -> bool:
    """Say whether the last line of *text*, whose line ends are LF, is blank; that of no text is."""
    return not text.removesuffix(b"\n").rpartition(b"\n")[2].strip(b" \t")
