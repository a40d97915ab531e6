"""Decides in which form tags are compared; which tags a note has is decided in `tags`."""

from __future__ import annotations

from typing import Final

from fsnotes.notes.markdown.tags import level_of
from fsnotes.notes.model import fold

MAX_LENGTH: Final = 200
"""Characters of a tag that is counted or looked for."""


def key_of(text: str) -> str | None:
    """Return the compared form of the tag, or the level of nested tags, that *text* is, with or without its `#`."""
    level = level_of(text)
    return None if level is None else fold(level)


def prefix_of(text: str) -> str:
    """Return the compared form of what tags may begin with, with or without a `#` before it."""
    return fold(text.removeprefix("#"))
