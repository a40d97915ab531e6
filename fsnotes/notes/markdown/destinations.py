"""Where a Markdown link's destination begins and ends, and the title that may follow it.

A destination is written in angle brackets, or bare: then without white space and with its parentheses in pairs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

MAX_PARENTHESES: Final = 32
"""Deepest nesting of parentheses in a bare destination."""

_SPACE: Final = re.compile(r"[ \t\n]*+")
_POINTED: Final = re.compile(r"<((?:[^<>\\\n]|\\.)*+)>")
# A backslash before anything but punctuation is one. NUL is what CommonMark makes of it: a character like any other.
_UNNESTED: Final = r"[^\x01-\x20\x7f()\\]++|\\[!-/:-@\[-`{-~]|\\"
_BARE: Final = re.compile(rf"(?:{_UNNESTED})*+")
# What nearly everybody writes: nothing but a destination without any of this.
_ALONE: Final = re.compile(r"\(([^\x01-\x20\x7f()\\<]*+)\)")
TITLE: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)", re.DOTALL)


def destination(text: str, start: int, end: int) -> tuple[int, int, int] | None:
    """Return where the destination at *start* begins and ends, without angle brackets, and what follows it.

    None where none stands. A bare one may be empty.
    """
    if start < end and text[start] == "<":
        pointed = _POINTED.match(text, start, end)
        return None if pointed is None else (*pointed.span(1), pointed.end())
    bare = _BARE.match(text, start, end)
    if bare is not None and text.startswith("(", bare.end(), end):
        bare = _nested().match(text, start, end)
    if bare is None or text.startswith("(", bare.end(), end):
        return None
    return start, bare.end(), bare.end()


@cache
def _nested() -> re.Pattern[str]:
    """Return what matches a bare destination with parentheses in it. Most notes have none, so it is made late."""
    pattern = rf"(?:{_UNNESTED})*+"
    for _ in range(MAX_PARENTHESES):
        pattern = rf"(?:{_UNNESTED}|\({pattern}\)|(?!))*+"
    return re.compile(pattern)


def inline_destination(text: str, start: int, end: int) -> tuple[int, int, int] | None:
    """Read `(destination "title")`, whose first parenthesis stands at *start*.

    Returns where the destination begins and ends and where all of it ends, or None where it is something else.
    """
    alone = _ALONE.match(text, start, end)
    if alone is not None:
        return (*alone.span(1), alone.end())
    found = destination(text, space_end(text, start + 1, end), end)
    if found is None:
        return None
    first, last, position = found
    following = space_end(text, position, end)
    if following > position and following < end and text[following] != ")":
        title = TITLE.match(text, following, end)
        if title is None:
            return None
        following = space_end(text, title.end(), end)
    return (first, last, following + 1) if following < end and text[following] == ")" else None


def space_end(text: str, start: int, end: int) -> int:
    """Return the offset of the first character from *start* on that is no white space."""
    found = _SPACE.match(text, start, end)
    return start if found is None else found.end()
