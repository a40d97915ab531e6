"""What is frequent in text and found as a whole by one search: plain links, code in single backticks, bare HTML tags.

Nothing is decided here. What the rules of `inlines.py` and `links.py` might read otherwise is not plain, and is found
by its first character alone.
"""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes.markdown.links import Form, Link, Span

_CODE: Final = r"`[^`]++`(?!`)"
_HTML_TAG: Final = r"</?[A-Za-z][A-Za-z0-9-]*+>"
_ESCAPE: Final = r"\\[!-/:-@\[-`{-~]"
# Nothing to trim and no bar that is escaped; all of it is not the text of a link in brackets.
_WIKI_LINK: Final = (
    r"\[\[(?!\s)([^\[\]\n|#\\]++)(?<!\s)(?:#(?!\s)([^\[\]\n|\\]++)(?<!\s)|(?!#))"
    r"(?:\|([^\[\]\n]*+)|(?=\]))\]\](?!\()"
)
# In the text a few pieces of code, no other brackets, and no `#` that may be a tag.
_NOTHING: Final = r"[^\[\]\\`<#$%]*+"
_BRACKETS: Final = rf"\[({_NOTHING}(?:#(?<!\s#){_NOTHING}|{_CODE}{_NOTHING}){{0,8}})\]"
# A destination that means what is written.
_DESTINATION: Final = (
    r"(?:(https?://[^\x01-\x20\x7f()\\<&]*+)"
    r"|(?!//)([^\x01-\x20\x7f()\\<&%#:]*+)(?:#([^\x01-\x20\x7f()\\<&%]*+)|(?=\))))"
)
_LINKS: Final = (_WIKI_LINK, rf"{_BRACKETS}(?:\({_DESTINATION}\)|(?![(\[]))")
_WIKI_PATH, _WIKI_FRAGMENT, _WIKI_ALIAS, BRACKETS, _URL, _PATH, _FRAGMENT = range(1, 8)
# Every branch begins with a literal: then a search looks for these characters before it tries any branch.
_OTHERS: Final = (_CODE, _HTML_TAG, _ESCAPE, *map(re.escape, "[]\\`<#$%"))

SIGNIFICANT: Final = re.compile("|".join(_OTHERS))
"""The next character that may begin or end something. Plain code, a plain HTML tag and an escape are found whole."""
FREQUENT: Final = re.compile("|".join((*_LINKS, *_OTHERS)))
"""The same, with links. The last group of what is found tells them: it is None for anything else, and BRACKETS for a
pair of brackets that is a link only if its text is a label.
"""

_WIKI: Final = Form.WIKI
_INLINE: Final = Form.INLINE
_new: Final = tuple.__new__


def plain_link(found: re.Match[str], *, embed: bool) -> Link:
    """Return the link that FREQUENT has found."""
    start, end = found.span()
    group = found.lastindex or _WIKI_PATH
    alias: Span | None
    to, place, external = None, None, False
    if group > BRACKETS:
        form, path, alias = _INLINE, _PATH, found.span(BRACKETS)
        if group == _URL:
            path, external = _URL, True
        elif group == _FRAGMENT:
            to, place = found[_FRAGMENT], found.span(_FRAGMENT)
    else:
        form, path, alias, to = _WIKI, _WIKI_PATH, None, found[_WIKI_FRAGMENT]
        if to is not None:
            place = found.span(_WIKI_FRAGMENT)
        if group == _WIKI_ALIAS:
            alias = found.span(_WIKI_ALIAS)
    raw, at = found[path], found.span(path)
    fields = (form, start - embed, end, at, raw, raw, to, place, alias, None, "", embed, external)
    # What a named tuple's own constructor does in the end. Calling that would be most of the work here.
    return _new(Link, fields)
