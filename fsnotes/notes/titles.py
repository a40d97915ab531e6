"""What a note is called: its frontmatter's `title`, else its first level-1 heading, else its file name."""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes import frontmatter
from fsnotes.notes.commands import MAX_TITLE
from fsnotes.notes.headings import headings
from fsnotes.notes.model import stem

MAX_SEARCHED: Final = 65_536
"""How far behind the frontmatter the first heading is looked for, in bytes: every listing pays for it."""

# A level-1 heading at the top of the document needs one of these lines. Looking for one costs a fraction of a
# walk. The pattern begins with a character so that the search skips the rest at memory speed.
_MAY_HAVE_HEADING: Final = re.compile(rb"[\r\n] {0,3}(?:#(?:[ \t\r\n]|\Z)|=++[ \t]*+(?:[\r\n]|\Z))")


def title_of(data: bytes, name: str) -> str:
    """Return the title of the note with these bytes in a file called *name*, on one line.

    Frontmatter that cannot be read has no title, and neither has a note that is not UTF-8 text: it goes by its
    file name. Empty titles and headings do not count.
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return stem(name)
    found = frontmatter.title(data) or _first_heading(data) or stem(name)
    return " ".join(found.split())[:MAX_TITLE].rstrip()


def _whole_lines(data: bytes, most: int) -> bytes:
    """Return the whole lines among the first *most* bytes: half a heading is none."""
    if len(data) <= most:
        return data
    return data[: max(data.rfind(b"\n", 0, most), data.rfind(b"\r", 0, most)) + 1]


def _first_heading(data: bytes) -> str | None:
    start = frontmatter.body_start(data)
    data = _whole_lines(data, start + MAX_SEARCHED)
    if _MAY_HAVE_HEADING.search(b"\n" + data[start:]) is None:
        return None
    found = headings(data, start=start)
    return next((heading.text for heading in found if heading.level == 1 and heading.text), None)
