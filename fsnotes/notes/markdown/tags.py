"""What a tag is, by the rules of Obsidian, in a note's text and in its properties.

A tag is a `#` at the start of a text, behind white space or directly behind another tag, and what follows it up to
white space, to a character of general punctuation (U+2000 to U+206F, U+2E00 to U+2E7F) or to any of ASCII but `-`,
`/` and `_`. So letters and digits of every script and emoji are tags' characters, and `/` nests them. At least one
character must be none of `0` to `9`. A `/` at the end is not part of it. These are the characters that Obsidian's
own program allows; its documentation names letters, digits, `_`, `-` and `/`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NAME: Final = r"[^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]++"
_TAG: Final = re.compile(f"#({_NAME})")
_WHOLE: Final = re.compile(f"#?({_NAME})")
_DIGITS: Final = frozenset("0123456789")


class Tag(NamedTuple):
    """A tag in a note's text: its *name* without the `#`, and where it stands, with it."""

    name: str
    start: int
    end: int


def tag_at(text: str, start: int, end: int) -> Tag | None:
    """Return the tag whose `#` stands at *start*, if there is one."""
    found = _TAG.match(text, start, end)
    if found is None:
        return None
    name = _name(found.group(1))
    return None if name is None else Tag(name, start, start + 1 + len(name))


def tag_of(text: str) -> str | None:
    """Return the tag that *text* is as a whole, with or without its `#`, if it is one."""
    found = _WHOLE.fullmatch(text)
    return None if found is None else _name(found.group(1))


def level_of(text: str) -> str | None:
    """Return the tag that *text* is as a whole, or the level of nested ones, which may be a number: `2024` of `2024/a`.

    It may have its `#`, and a `/` behind it.
    """
    found = _WHOLE.fullmatch(text)
    return None if found is None else found.group(1).rstrip("/") or None


def _name(text: str) -> str | None:
    name = text.rstrip("/")
    return None if _DIGITS.issuperset(name) else name
