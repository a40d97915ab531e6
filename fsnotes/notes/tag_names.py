"""Which texts are tags, by Obsidian's rules: letters of any script, digits, `_`, `-`, `/` for nested ones, and symbols.

White space and ASCII punctuation end a tag, and so does punctuation of other scripts in two blocks of Unicode; emoji do
not. A tag has at least one character that is no ASCII digit. A number sign before it and `/` behind it are no part
of it.
"""

from __future__ import annotations

import re
from typing import Final

_CHARACTER: Final = r"[^\s\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]"
_TAG: Final = re.compile(rf"#?({_CHARACTER}++)")
_DIGITS: Final = frozenset("0123456789")


def tag_of(text: str) -> str | None:
    """Return the tag that *text* is, None if it is not one as a whole."""
    found = _TAG.fullmatch(text)
    name = "" if found is None else found.group(1).rstrip("/")
    return None if _DIGITS.issuperset(name) else name
