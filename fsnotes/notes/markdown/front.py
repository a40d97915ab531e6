"""Which lines at the top of a note are frontmatter: not Markdown, and not YAML either before anybody reads it.

Frontmatter opens with `---` as the very first line (a byte order mark may stand before it) and ends with the next
line that is `---` or `...`. Without such a line there is none.
"""

from __future__ import annotations

import re
from typing import Final

BOM: Final = "\ufeff"
OPENING: Final = r"---[ \t]*+(?:\r\n|\r|\n)"
CLOSING: Final = r"(?<![^\r\n])(?:---|\.\.\.)[ \t]*+(?:\r\n|\r|\n|\Z)"
_OPENING: Final = re.compile(OPENING)
_CLOSING: Final = re.compile(CLOSING)


def bounds(text: str) -> tuple[int, int, int] | None:
    """Return where the block begins, where it ends and where the body begins; None without frontmatter."""
    opening = _OPENING.match(text, 1 if text.startswith(BOM) else 0)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    return None if closing is None else (opening.end(), closing.start(), closing.end())


def body_start(text: str) -> int:
    """Return the offset of the first character after the frontmatter and the byte order mark."""
    found = bounds(text)
    if found is not None:
        return found[2]
    return 1 if text.startswith(BOM) else 0
