"""What a link in a note is, and what its written parts mean.

Wikilinks are Obsidian's: `[[path#fragment|alias]]`, nothing in them escaped, all on one line, white space around the
path and the fragment left out. In a table the bar before the alias has a backslash before it, which is allowed
everywhere and belongs to neither side. A fragment that begins with `^` names a block, any other one a heading, with
`#` between the headings of a path of them.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from fsnotes.notes.markdown.decoding import decoded, fragment_at, is_external, unescaped

Span = tuple[int, int]

# A destination without these is the path that it means.
_SPECIAL: Final = re.compile(r"[\\&%#:]|\A//")


class Form(Enum):
    """How a link is written."""

    WIKI = "[[path]]"
    INLINE = "[text](path)"
    REFERENCE = "[text][label]"
    DEFINITION = "[label]: path"
    AUTOLINK = "<url>"
    PROPERTY = "[[path]] in frontmatter"


class Link(NamedTuple):
    """One link: all of it from *start* to *end*, its `!` included where it is an *embed* (or an image).

    *path* is where its path is written, which is what changes when a note is renamed; *raw* is what stands there and
    *target* what it means, empty for a link into the note itself. An *external* one has its whole URL there and no
    fragment. A reference has no *path* of its own: that of its definition, which is a link too, serves all of them.
    *fragment* is what follows the `#`, without it, as it is meant, None where there is none.
    *alias* is where the text that is shown stands: behind the bar of a wikilink, between the brackets of others.
    *label* is that of a reference and a definition, in the form in which they are compared.
    *quote* is the quotation mark that a property's text stands in, if any: what is spliced must be escaped for it.
    Links may stand in each other's texts; their paths never overlap.
    """

    form: Form
    start: int
    end: int
    path: Span | None
    raw: str
    target: str
    fragment: str | None = None
    fragment_span: Span | None = None
    alias: Span | None = None
    label: str | None = None
    quote: str = ""
    embed: bool = False
    external: bool = False

    @property
    def block(self) -> str | None:
        """The id of the block that the link leads to, if it leads to one."""
        return self.fragment[1:] if self.fragment is not None and self.fragment.startswith("^") else None


Reading = tuple[Span, str, str | None, Span | None, bool]
"""Where the path stands in a destination, what it means, the fragment and where it stands, whether it is external."""


def read_destination(raw: str) -> Reading:
    """Read the destination of a Markdown link, without angle brackets."""
    if _SPECIAL.search(raw) is None:
        return (0, len(raw)), raw, None, None, False
    if is_external(raw):
        return (0, len(raw)), unescaped(raw), None, None, True
    edge = fragment_at(raw)
    if edge is None:
        return (0, len(raw)), decoded(raw), None, None, False
    end, start = edge
    return (0, end), decoded(raw[:end]), decoded(raw[start:]), (start, len(raw)), False


_WIKILINK: Final = re.compile(r"\[\[([^\[\]\n|#]*+)(?:#([^\[\]\n|]*+))?+(?:\|([^\[\]\n]*+))?+\]\]")


WikiReading = tuple[Span, Span | None, Span | None, int]
"""Where the path, the fragment and the alias of a wikilink stand in the text, and where it ends."""


def wikilink_at(text: str, start: int, end: int) -> WikiReading | None:
    """Read the wikilink whose brackets open at *start*; None where there is none, or where it links to nothing."""
    found = _WIKILINK.match(text, start, end)
    if found is None:
        return None
    path = found.span(1)
    fragment = found.span(2) if found.group(2) is not None else None
    alias = found.span(3) if found.group(3) is not None else None
    if alias is not None and text[alias[0] - 2] == "\\":
        # The bar is escaped, as it must be in a table.
        if fragment is None:
            path = path[0], path[1] - 1
        else:
            fragment = fragment[0], fragment[1] - 1
    path = _trimmed(text, *path)
    if fragment is not None:
        fragment = _trimmed(text, *fragment)
    if path[0] == path[1] and (fragment is None or fragment[0] == fragment[1]):
        return None
    return path, fragment, alias, found.end()


def _trimmed(text: str, start: int, end: int) -> Span:
    if start < end and (text[start].isspace() or text[end - 1].isspace()):
        inside = text[start:end]
        start = end - len(inside.lstrip())
        return (start, start + len(inside.strip())) if start < end else (end, end)
    return start, end
