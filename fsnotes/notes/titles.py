"""What a note is called: its frontmatter's `title`, else its first level-1 heading, else its file name."""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes import frontmatter
from fsnotes.notes.commands import MAX_TITLE
from fsnotes.notes.markdown.front import body_start
from fsnotes.notes.markdown.walk import headings
from fsnotes.notes.model import stem
from sandbox.names import shows

MAX_SEARCHED: Final = 65_536
"""How far behind the frontmatter the first heading is looked for, in characters: every listing pays for it."""

# A level-1 heading at the top of the document needs one of these lines. Looking for one costs a fraction of a
# walk. The pattern begins with a character so that the search skips the rest at memory speed.
_MAY_HAVE_HEADING: Final = re.compile(r"[\r\n] {0,3}(?:#(?:[ \t\r\n]|\Z)|=++[ \t]*+(?:[\r\n]|\Z))")


def title_of(data: bytes, name: str) -> str:
    """Return the title of the note with these bytes in a file called *name*, on one line.

    Frontmatter that cannot be read has no title, and neither has a note that is not UTF-8 text: it goes by its
    file name. Titles and headings that show nothing do not count.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return stem(name)
    found = _shown(frontmatter.title(data)) or _shown(_first_heading(text)) or stem(name)
    # An escape in YAML can be half a character, which is no text anywhere else.
    whole = found.encode("utf-8", "replace").decode("utf-8")
    return " ".join(whole.split())[:MAX_TITLE].rstrip()


def _first_heading(text: str) -> str | None:
    start = body_start(text)
    text = _whole_lines(text, start + MAX_SEARCHED)
    if _MAY_HAVE_HEADING.search("\n" + text[start:]) is None:
        return None
    found = headings(text, start=start)
    return next(
        (each.text for each in found if each.level == 1 and not each.nested and shows(each.text)), None
    )


def _whole_lines(text: str, most: int) -> str:
    """Return the whole lines among the first *most* characters: half a heading is none."""
    if len(text) <= most:
        return text
    return text[: max(text.rfind("\n", 0, most), text.rfind("\r", 0, most)) + 1]


def _shown(text: str | None) -> str | None:
    """Return *text* unless a person would see nothing of it."""
    return text if text is not None and shows(text) else None
